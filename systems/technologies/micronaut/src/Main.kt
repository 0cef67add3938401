// GET /random?num=N with Micronaut: a JSON list of N random numbers, each as a string of six digits.
package technology

import io.micronaut.http.HttpStatus
import io.micronaut.http.annotation.Controller
import io.micronaut.http.annotation.Get
import io.micronaut.http.annotation.QueryValue
import io.micronaut.http.exceptions.HttpStatusException
import io.micronaut.runtime.Micronaut
import kotlin.random.Random

fun number() = Random.nextInt(1_000_000).toString().padStart(6, '0')

@Controller
class Numbers {
    // As text: an empty value for a number would be taken for a missing one.
    @Get("/random")
    fun random(@QueryValue(defaultValue = "10") num: String): List<String> {
        val count = num.toIntOrNull()
        if (count == null || count !in 0..100_000) {
            throw HttpStatusException(HttpStatus.BAD_REQUEST, "num is a number from 0 to 100000")
        }
        return List(count) { number() }
    }
}

fun main() {
    val settings = mapOf(
        "micronaut.server.host" to System.getenv("LISTEN"),
        "micronaut.server.port" to System.getenv("PORT"),
        "micronaut.netty.event-loops.default.num-threads" to System.getenv("WORKERS"),
        // Without a backlog of its own Netty takes the kernel's net.core.somaxconn.
        "micronaut.server.netty.options.SO_BACKLOG" to System.getenv("BACKLOG"),
    )
    Micronaut.build()
        .banner(false)
        .properties(settings.filterValues { it != null })
        .packages("technology")
        .start()
}

// GET /random?num=N with Ktor: a JSON list of N random numbers, each as a string of six digits.

import io.ktor.http.HttpStatusCode
import io.ktor.serialization.kotlinx.json.json
import io.ktor.server.application.install
import io.ktor.server.engine.connector
import io.ktor.server.engine.embeddedServer
import io.ktor.server.netty.Netty
import io.ktor.server.plugins.contentnegotiation.ContentNegotiation
import io.ktor.server.response.respond
import io.ktor.server.response.respondText
import io.ktor.server.routing.get
import io.ktor.server.routing.routing
import io.netty.channel.ChannelOption
import kotlin.random.Random

fun setting(name: String) = System.getenv(name)?.toInt()

fun number() = Random.nextInt(1_000_000).toString().padStart(6, '0')

fun main() {
    embeddedServer(
        Netty,
        configure = {
            connector {
                host = System.getenv("LISTEN")
                port = setting("PORT")!!
            }
            setting("WORKERS")?.let {
                workerGroupSize = it
                callGroupSize = it
            }
            // Without a backlog of its own Netty takes the kernel's net.core.somaxconn.
            setting("BACKLOG")?.let { backlog -> configureBootstrap = { option(ChannelOption.SO_BACKLOG, backlog) } }
        },
    ) {
        install(ContentNegotiation) { json() }
        routing {
            get("/random") {
                val num = (call.request.queryParameters["num"] ?: "10").toIntOrNull()
                if (num == null || num !in 0..100_000) {
                    call.respondText("num is a number from 0 to 100000", status = HttpStatusCode.BadRequest)
                } else {
                    call.respond(List(num) { number() })
                }
            }
        }
    }.start(wait = true)
}

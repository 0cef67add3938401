// GET /random?num=N with Ratpack: a JSON list of N random numbers, each as a string of six digits.

import java.net.InetAddress
import kotlin.random.Random
import ratpack.handling.Context
import ratpack.http.Status
import ratpack.jackson.Jackson.json
import ratpack.server.RatpackServer

fun setting(name: String) = System.getenv(name)?.toInt()

fun number() = Random.nextInt(1_000_000).toString().padStart(6, '0')

fun random(context: Context) {
    val num = (context.request.queryParams["num"] ?: "10").toIntOrNull()
    if (num == null || num !in 0..100_000) {
        context.response.status(Status.BAD_REQUEST).send("num is a number from 0 to 100000")
    } else {
        context.render(json(List(num) { number() }))
    }
}

fun main() {
    RatpackServer.start { server ->
        server.serverConfig { config ->
            config.address(InetAddress.getByName(System.getenv("LISTEN"))).port(setting("PORT")!!).development(false)
            setting("WORKERS")?.let { config.threads(it) }
            // Without a backlog of its own Netty takes the kernel's net.core.somaxconn.
            setting("BACKLOG")?.let { config.connectQueueSize(it) }
        }.handlers { chain -> chain.get("random", ::random) }
    }
}

// GET /random?num=N with Vert.x: a JSON list of N random numbers, each as a string of six digits.

import io.vertx.core.DeploymentOptions
import io.vertx.core.Future
import io.vertx.core.VerticleBase
import io.vertx.core.Vertx
import io.vertx.core.VertxOptions
import io.vertx.core.http.HttpServerOptions
import io.vertx.ext.web.Router
import io.vertx.ext.web.RoutingContext
import java.util.function.Supplier
import kotlin.random.Random
import kotlin.system.exitProcess

fun setting(name: String) = System.getenv(name)?.toInt()

fun number() = Random.nextInt(1_000_000).toString().padStart(6, '0')

fun random(context: RoutingContext) {
    val num = (context.queryParam("num").firstOrNull() ?: "10").toIntOrNull()
    if (num == null || num !in 0..100_000) {
        context.response().setStatusCode(400).end("num is a number from 0 to 100000")
    } else {
        context.json(List(num) { number() })
    }
}

class Server : VerticleBase() {
    override fun start(): Future<*> {
        val router = Router.router(vertx)
        router.get("/random").handler(::random)
        val options = HttpServerOptions().setHost(System.getenv("LISTEN")).setPort(setting("PORT")!!)
        // Without a backlog of its own Netty takes the kernel's net.core.somaxconn.
        setting("BACKLOG")?.let { options.acceptBacklog = it }
        return vertx.createHttpServer(options).requestHandler(router).listen()
    }
}

fun main() {
    val isTuned = System.getenv("TUNED") == "true"
    // An instance of a verticle has one thread.
    val default = if (isTuned) Runtime.getRuntime().availableProcessors() else 1
    val instances = DeploymentOptions().setInstances(setting("WORKERS") ?: default)
    val vertx = Vertx.vertx(VertxOptions().setPreferNativeTransport(isTuned))
    vertx.deployVerticle(Supplier { Server() }, instances).onFailure {
        it.printStackTrace()
        exitProcess(1)
    }
}

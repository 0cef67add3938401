// The gateway as the first study built it: Fastify takes a request, kafkajs puts its body into Kafka (acks=all), and 204 is said
// after the acknowledgement. The body is not checked.
//   node server.mjs PORT BROKERS each|gather [MILLISECONDS]
// each: every request sends its own message; gather: the messages of so many milliseconds (2) are sent together.
import Fastify from 'fastify'
import { Kafka, logLevel } from 'kafkajs'

const [port, brokers, mode, milliseconds = '2'] = process.argv.slice(2)
const kafka = new Kafka({ clientId: 'fastify', brokers: brokers.split(','), logLevel: logLevel.ERROR })
const producer = kafka.producer({ allowAutoTopicCreation: false })

const gathered = new Map() // topic -> { messages, sent }

function gather (topic, value) {
  let batch = gathered.get(topic)
  if (batch === undefined) {
    batch = { messages: [] }
    gathered.set(topic, batch)
    batch.sent = new Promise((resolve, reject) => setTimeout(() => {
      gathered.delete(topic)
      producer.send({ topic, acks: -1, messages: batch.messages }).then(resolve, reject)
    }, Number(milliseconds)))
  }
  batch.messages.push({ value })
  return batch.sent
}

const send = mode === 'gather' ? gather : (topic, value) => producer.send({ topic, acks: -1, messages: [{ value }] })

const app = Fastify({ logger: false })
app.removeAllContentTypeParsers()
app.addContentTypeParser('*', { parseAs: 'buffer' }, (_, body, done) => done(null, body))
app.put('/api/v1/topics/:topic/records', async (request, reply) => {
  await send(request.params.topic, request.body)
  return reply.code(204).send()
})

await producer.connect()
const address = await app.listen({ host: '127.0.0.1', port: Number(port) })
console.log(`listening on ${address}`)
process.on('SIGTERM', async () => {
  await app.close()
  await producer.disconnect()
  process.exit(0)
})

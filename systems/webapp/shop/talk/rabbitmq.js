// The shop over RabbitMQ: an action is the routing key of an event on one direct exchange; each service has a queue for
// its actions, and each process a queue of its own for replies.
'use strict';

const { randomUUID } = require('node:crypto');
const amqp = require('amqplib');
const { insisting, refused, timedOut, unreachable } = require('./failure');

const EXCHANGE = 'shop';
const RECONNECT_FIRST_MS = 100;
const RECONNECT_MAX_MS = 2_000;
const CONNECT_AT_MOST_MS = 5_000;

// A channel that the broker closes takes its connection along: then all is made anew.
function watched(connection, channel) {
  channel.on('error', (problem) => {
    console.error(`RabbitMQ: ${problem.message}`);
    connection.close().catch(() => {});
  });
}

// An event that cannot be read is not given to anybody again. Where the channel is gone the broker gives it to somebody else.
function drop(channel, message) {
  try {
    channel.nack(message, false, false);
  } catch (problem) {
    console.error(`RabbitMQ: ${problem.message}`);
  }
}

class RabbitMq {
  constructor(settings, meters) {
    this.settings = settings;
    this.meters = meters;
    this.pending = new Map();
    this.busy = 0;
    this.link = null;
    this.serving = null;
    this.isConnecting = false;
    this.isClosing = false;
  }

  // Connects, and again whenever the connection is lost. `work`: the service whose queue is served, with its actions
  // and what carries one out.
  async open(work) {
    this.work = work;
    await this.connect();
  }

  async connect() {
    this.isConnecting = true;
    try {
      const connection = await amqp.connect(this.settings.url, { noDelay: true, timeout: CONNECT_AT_MOST_MS });
      connection.on('error', (problem) => console.error(`RabbitMQ: ${problem.message}`));
      connection.on('close', () => this.lost(connection));
      await this.join(connection);
    } finally {
      this.isConnecting = false;
    }
  }

  // The link comes first: events that wait in the queue are worked on as soon as it is served, and need other services.
  async join(connection) {
    try {
      this.link = await this.linked(connection);
      this.serving = this.work ? await this.serve(connection) : null;
      if (this.link?.connection !== connection) throw unreachable('RabbitMQ', 'the connection is lost');
    } catch (problem) {
      this.forget();
      await connection.close().catch(() => {});
      throw problem;
    }
  }

  // The channel for calls and their replies.
  async linked(connection) {
    const { persistent, confirms } = this.settings;
    const channel = confirms ? await connection.createConfirmChannel() : await connection.createChannel();
    channel.on('return', (message) => this.returned(message));
    watched(connection, channel);
    await channel.assertExchange(EXCHANGE, 'direct', { durable: persistent });
    const replies = await channel.assertQueue('', { exclusive: true, autoDelete: true });
    await channel.consume(replies.queue, (message) => this.replied(message), { noAck: true });
    const link = { connection, channel, replies: replies.queue, isBlocked: false };
    connection.on('blocked', () => (link.isBlocked = true));
    connection.on('unblocked', () => (link.isBlocked = false));
    return link;
  }

  async serve(connection) {
    const { service, actions, carryOut } = this.work;
    const { persistent, prefetch, queueLimit, overflow } = this.settings;
    const channel = await connection.createChannel();
    watched(connection, channel);
    const limits = queueLimit ? { 'x-max-length': queueLimit, 'x-overflow': overflow } : {};
    await channel.assertQueue(service, { durable: persistent, arguments: limits });
    for (const action of actions) await channel.bindQueue(service, EXCHANGE, action);
    await channel.prefetch(prefetch);
    const { consumerTag } = await channel.consume(service, (message) => this.taken(channel, message, carryOut));
    return { channel, consumerTag };
  }

  lost(connection) {
    if (this.link?.connection !== connection) return;
    this.forget();
    // Whoever is connecting tries again.
    if (!this.isClosing && !this.isConnecting) this.reconnect(RECONNECT_FIRST_MS);
  }

  forget() {
    [this.link, this.serving] = [null, null];
    for (const { fail } of this.pending.values()) fail(unreachable('RabbitMQ', 'the connection is lost'));
  }

  reconnect(pauseMs) {
    setTimeout(() => {
      if (this.isClosing || this.link) return;
      this.connect().catch((problem) => {
        console.error(`RabbitMQ: ${problem.message}`);
        this.reconnect(Math.min(2 * pauseMs, RECONNECT_MAX_MS));
      });
    }, pauseMs);
  }

  // What an action answers: `{ status, body }`.
  async call(action, input) {
    const { status, text } = await this.ask(action, input);
    return { status, body: JSON.parse(text) };
  }

  // The same with the body as it came: `{ status, text }`.
  ask(action, input) {
    return insisting(this.settings, this.meters, () => this.once(action, input));
  }

  once(action, input) {
    if (!this.link) return Promise.reject(unreachable('RabbitMQ', 'it is not connected'));
    if (this.link.isBlocked) return Promise.reject(refused('RabbitMQ'));
    const { timeoutMs } = this.settings;
    const id = randomUUID();
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.meters.counts.timed_out += 1;
        fail(timedOut(action.split('.')[0], timeoutMs));
      }, timeoutMs);
      const end = (tell) => (value) => {
        clearTimeout(timer);
        if (!this.pending.delete(id)) return;
        this.meters.waiting -= 1;
        tell(value);
      };
      const fail = end(reject);
      this.pending.set(id, { answer: end(resolve), fail });
      this.meters.waiting += 1;
      this.publish(action, input, id, fail);
    });
  }

  publish(action, input, correlationId, fail) {
    const { persistent, confirms, expireEvents, timeoutMs } = this.settings;
    const { channel, replies } = this.link;
    const options = { correlationId, replyTo: replies, persistent, mandatory: true, contentType: 'application/json' };
    // Nobody waits for an answer any more when the caller's time is up.
    if (expireEvents) options.expiration = timeoutMs;
    const content = Buffer.from(JSON.stringify(input));
    try {
      if (!confirms) return channel.publish(EXCHANGE, action, content, options);
      const since = performance.now();
      channel.publish(EXCHANGE, action, content, options, (problem) => {
        this.meters.confirmed(performance.now() - since);
        if (!problem) return;
        // Where the connection is lost, `lost` has told the caller.
        this.meters.counts.not_confirmed += 1;
        fail(refused(action.split('.')[0]));
      });
    } catch (problem) {
      fail(unreachable('RabbitMQ', problem.message));
    }
  }

  returned(message) {
    this.meters.counts.returned += 1;
    const { routingKey } = message.fields;
    this.pending.get(message.properties.correlationId)?.fail(unreachable(routingKey.split('.')[0], 'it has no queue'));
  }

  replied(message) {
    if (!message) return;
    const waiting = this.pending.get(message.properties.correlationId);
    if (waiting) waiting.answer({ status: Number(message.properties.type), text: message.content.toString() });
    else this.meters.counts.late_replies += 1;
  }

  // An event for this service: carried out, answered, and only then taken off the queue. Whoever is killed in between
  // leaves it to be done again.
  async taken(channel, message, carryOut) {
    if (!message) return;
    this.busy += 1;
    const { replyTo, correlationId } = message.properties;
    try {
      const { status, body } = await carryOut(message.fields.routingKey, JSON.parse(message.content));
      // The status is the type of the reply, and its content the body alone: the edge need not read it.
      channel.sendToQueue(replyTo, Buffer.from(JSON.stringify(body)), { correlationId, type: String(status) });
      channel.ack(message);
    } catch (problem) {
      console.error(`an event could not be answered: ${problem.message}`);
      drop(channel, message);
    } finally {
      this.busy -= 1;
    }
  }

  // Takes no more, finishes what it has, and goes.
  async close(atMostMs) {
    this.isClosing = true;
    if (this.serving) await this.serving.channel.cancel(this.serving.consumerTag).catch(() => {});
    const until = Date.now() + atMostMs;
    while ((this.busy || this.pending.size) && Date.now() < until) {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    await this.link?.connection.close().catch(() => {});
  }
}

module.exports = { RabbitMq };

// ali-ons as the scenarios drive it: many orders at once, each answered under its number.
//
// in:  {"id": 7, "do": "send", "as": "name of the client object", ...}
// out: {"id": 7, "answer": ...} or {"id": 7, "error": "..."}
//
// It decides nothing: what was sent and what came is told as it was, and the scenario judges.
'use strict';

const readline = require('readline');
const { Consumer, Message, Producer } = require('ali-ons');

const SHORT_MILLIS = 1000;
const clients = new Map();
const inboxes = new Map();

function options(order) {
  return {
    nameSrv: order.namesrv,
    httpclient: {}, // asked for name servers' addresses, which we say ourselves
    instanceName: order.as,
    namespace: order.namespace || '',
    accessKey: order.account,
    secretKey: order.secret,
    pollNameServerInteval: SHORT_MILLIS, // sic
    heartbeatBrokerInterval: SHORT_MILLIS,
    rebalanceInterval: SHORT_MILLIS,
    persistConsumerOffsetInterval: SHORT_MILLIS,
  };
}

async function produce(order) {
  const producer = new Producer({ ...options(order), producerGroup: order.group });
  producer.on('error', error => console.error(error));
  clients.set(order.as, producer);
  await producer.ready();
}

async function send(order) {
  const producer = clients.get(order.as);
  if (order.mode === 'async') {
    return Promise.all(order.messages.map(each => sendOne(producer, each)));
  }
  const results = [];
  for (const each of order.messages) {
    results.push(await sendOne(producer, each));
  }
  return results;
}

async function sendOne(producer, fields) {
  const message = new Message(fields.topic, fields.tag || null, fields.body);
  if (fields.key) {
    message.keys = [ fields.key ];
  }
  if (fields.level) {
    message.delayTimeLevel = fields.level;
  }
  Object.assign(message.properties, fields.properties);
  const result = await producer.send(message);
  return {
    status: result.sendStatus,
    id: result.msgId,
    queue: result.messageQueue.queueId,
    offset: Number(result.queueOffset),
  };
}

async function consume(order) {
  const consumer = new Consumer({
    ...options(order),
    consumerGroup: order.group,
    consumeFromWhere: order.from,
    isBroadcast: Boolean(order.broadcast),
  });
  consumer.on('error', error => console.error(error));
  clients.set(order.as, consumer);
  const inbox = new Inbox(order.fails);
  inboxes.set(order.as, inbox);
  const expression = order.sql
    ? { expressionType: 'SQL92', subString: order.expression }
    : order.expression;
  consumer.subscribe(order.topic, expression, async message => inbox.take(message));
  await consumer.ready();
}

/** What one consumer got; each message fails as many times as was ordered (-1: always). */
class Inbox {
  constructor(fails) {
    this.fails = fails;
    this.messages = [];
    this.waiting = new Set();
  }

  take(message) {
    this.messages.push({
      topic: message.topic,
      body: message.body.toString(),
      tag: message.tags,
      key: message.keys,
      id: message.msgId,
      queue: message.queueId,
      offset: Number(message.queueOffset),
      tries: message.reconsumeTimes,
      properties: message.properties,
      at_ms: Date.now(),
    });
    for (const wake of this.waiting) {
      wake();
    }
    if (this.fails < 0 || message.reconsumeTimes < this.fails) {
      throw new Error(`failing as ordered: ${message.msgId}`);
    }
  }

  async received(count, millis) {
    const end = Date.now() + millis;
    while (this.messages.length < count && Date.now() < end) {
      await new Promise(resolve => {
        const wake = () => {
          clearTimeout(timer);
          this.waiting.delete(wake);
          resolve();
        };
        const timer = setTimeout(wake, end - Date.now());
        this.waiting.add(wake);
      });
    }
    return this.messages;
  }
}

async function stop(order) {
  const client = clients.get(order.as);
  clients.delete(order.as);
  await client.close();
}

const ORDERS = {
  produce,
  send,
  consume,
  stop,
  received: order => inboxes.get(order.as).received(order.count, order.millis),
};

async function obey(order) {
  const reply = { id: order.id };
  try {
    reply.answer = await ORDERS[order.do](order);
  } catch (error) {
    reply.error = error.stack;
  }
  process.stdout.write(JSON.stringify(reply) + '\n');
}

const lines = readline.createInterface({ input: process.stdin });
lines.on('line', line => obey(JSON.parse(line)));
lines.on('close', () => process.exit(0));

package main

import (
	"strconv"
	"time"

	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/producer"
)

const shardProperty = "shard" // says which queue a message of mode "select" is for

var statuses = map[primitive.SendStatus]string{
	primitive.SendOK:                "SEND_OK",
	primitive.SendFlushDiskTimeout:  "FLUSH_DISK_TIMEOUT",
	primitive.SendFlushSlaveTimeout: "FLUSH_SLAVE_TIMEOUT",
	primitive.SendSlaveNotAvailable: "SLAVE_NOT_AVAILABLE",
}

// Outgoing is a message that an order wants sent.
type Outgoing struct {
	Topic, Body, Tag, Key string
	Level                 int
	Properties            map[string]string
}

func (outgoing Outgoing) message() *primitive.Message {
	message := primitive.NewMessage(outgoing.Topic, []byte(outgoing.Body))
	for name, value := range outgoing.Properties {
		message.WithProperty(name, value)
	}
	if outgoing.Tag != "" {
		message.WithTag(outgoing.Tag)
	}
	if outgoing.Key != "" {
		message.WithKeys([]string{outgoing.Key})
	}
	if outgoing.Level > 0 {
		message.WithDelayTimeLevel(outgoing.Level)
	}
	return message
}

// byShard takes the queue that the shard says, and for messages without one the next.
type byShard struct {
	others producer.QueueSelector
}

func (selector byShard) Select(
	message *primitive.Message, queues []*primitive.MessageQueue, lastBroker string,
) *primitive.MessageQueue {
	shard, err := strconv.Atoi(message.GetProperty(shardProperty))
	if err != nil {
		return selector.others.Select(message, queues, lastBroker)
	}
	return queues[shard%len(queues)]
}

func sent(result *primitive.SendResult) Fields {
	return Fields{
		"status":    statuses[result.Status],
		"id":        result.MsgID,
		"offset_id": result.OffsetMsgID,
		"queue":     result.MessageQueue.QueueId,
		"offset":    result.QueueOffset,
	}
}

func delivery(message *primitive.MessageExt) Fields {
	return Fields{
		"topic":      message.Topic,
		"body":       string(message.Body),
		"tag":        message.GetTags(),
		"key":        message.GetKeys(),
		"id":         message.MsgId,
		"queue":      message.Queue.QueueId,
		"offset":     message.QueueOffset,
		"tries":      message.ReconsumeTimes,
		"properties": message.GetProperties(),
		"at_ms":      time.Now().UnixMilli(),
	}
}

package main

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	rocketmq "github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
)

const lookAgain = 20 * time.Millisecond

// Consumer keeps what it got; each message fails as many times as was ordered (-1: always).
type Consumer struct {
	order   Order
	push    rocketmq.PushConsumer
	replier *Producer

	lock sync.Mutex
	got  []Fields
}

func newConsumer(order Order, replier *Producer) (*Consumer, error) {
	if replier != nil {
		// What starts in one instance is told to the broker together. A producer alone is told
		// when it has run for a second, and until then no reply finds it.
		order.As = replier.order.As
	}
	push, err := rocketmq.NewPushConsumer(consumerOptions(order)...)
	if err != nil {
		return nil, err
	}
	to := &Consumer{order: order, push: push, replier: replier, got: []Fields{}}
	if err := push.Subscribe(order.Topic, selector(order), to.take); err != nil {
		return nil, err
	}
	return to, push.Start()
}

func consumerOptions(order Order) []consumer.Option {
	options := []consumer.Option{
		consumer.WithGroupName(order.Group),
		consumer.WithInstance(order.As),
		consumer.WithNsResolver(primitive.NewPassthroughResolver([]string{order.Namesrv})),
		consumer.WithConsumeFromWhere(consumer.ConsumeFromFirstOffset),
		consumer.WithConsumerOrder(order.Orderly),
		consumer.WithConsumeMessageBatchMaxSize(1),
		consumer.WithSuspendCurrentQueueTimeMillis(100 * time.Millisecond),
	}
	if order.Broadcast {
		options = append(options, consumer.WithConsumerModel(consumer.BroadCasting))
	}
	if order.Namespace != "" {
		options = append(options, consumer.WithNamespace(order.Namespace))
	}
	if order.Account != "" {
		options = append(options, consumer.WithCredentials(credentials(order)))
	}
	return options
}

func selector(order Order) consumer.MessageSelector {
	kind := consumer.TAG
	if order.SQL {
		kind = consumer.SQL92
	}
	return consumer.MessageSelector{Type: kind, Expression: order.Expression}
}

func (to *Consumer) obey(order Order) (any, error) {
	switch order.Do {
	case "received":
		return to.received(order), nil
	case "stop":
		return nil, to.push.Shutdown()
	}
	return nil, noSuchOrder(order)
}

func (to *Consumer) take(
	_ context.Context, messages ...*primitive.MessageExt,
) (consumer.ConsumeResult, error) {
	isDone := true
	for _, message := range messages {
		to.lock.Lock()
		to.got = append(to.got, delivery(message))
		to.lock.Unlock()
		isDone = isDone && to.order.Fails >= 0 && int(message.ReconsumeTimes) >= to.order.Fails
		if to.replier != nil {
			to.reply(message)
		}
	}
	switch {
	case isDone:
		return consumer.ConsumeSuccess, nil
	case to.order.Orderly:
		return consumer.SuspendCurrentQueueAMoment, nil
	}
	return consumer.ConsumeRetryLater, nil
}

func (to *Consumer) reply(message *primitive.MessageExt) {
	reply, err := consumer.CreateReplyMessage(message, []byte("re: "+string(message.Body)))
	if err == nil {
		_, err = to.replier.plain.SendSync(context.Background(), reply)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "no reply was sent:", err)
	}
}

// received is all that has come, once it is as many as that, or the time is over.
func (to *Consumer) received(order Order) []Fields {
	end := time.Now().Add(time.Duration(order.Millis) * time.Millisecond)
	for {
		to.lock.Lock()
		got := to.got[:len(to.got):len(to.got)]
		to.lock.Unlock()
		if len(got) >= order.Count || time.Now().After(end) {
			return got
		}
		time.Sleep(lookAgain)
	}
}

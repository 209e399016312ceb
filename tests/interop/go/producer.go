package main

import (
	"context"
	"sync"
	"time"

	rocketmq "github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/producer"
)

// Producer sends. The library has producers of another kind for transactions: that one is made
// when there is a transaction first, in a group of its own, because the broker may ask any
// producer of a group what was decided.
type Producer struct {
	order Order
	plain rocketmq.Producer

	lock         sync.Mutex
	transactions *Transactions
}

func newProducer(order Order) (*Producer, error) {
	plain, err := rocketmq.NewProducer(producerOptions(order)...)
	if err != nil {
		return nil, err
	}
	return &Producer{order: order, plain: plain}, plain.Start()
}

func producerOptions(order Order) []producer.Option {
	options := []producer.Option{
		producer.WithGroupName(order.Group),
		producer.WithInstanceName(order.As),
		producer.WithNsResolver(primitive.NewPassthroughResolver([]string{order.Namesrv})),
		producer.WithQueueSelector(byShard{producer.NewRoundRobinQueueSelector()}),
		producer.WithRetry(0),
	}
	if order.Namespace != "" {
		options = append(options, producer.WithNamespace(order.Namespace))
	}
	if order.Account != "" {
		options = append(options, producer.WithCredentials(credentials(order)))
	}
	return options
}

func credentials(order Order) primitive.Credentials {
	return primitive.Credentials{AccessKey: order.Account, SecretKey: order.Secret}
}

func (from *Producer) obey(order Order) (any, error) {
	switch order.Do {
	case "send":
		return from.send(order)
	case "request":
		return from.request(order)
	case "transact":
		transactions, err := from.inTransactions()
		if err != nil {
			return nil, err
		}
		return transactions.send(order)
	case "checks":
		return from.transactions.checks(order.Key), nil
	case "stop":
		if from.transactions != nil {
			if err := from.transactions.producer.Shutdown(); err != nil {
				return nil, err
			}
		}
		return nil, from.plain.Shutdown()
	}
	return nil, noSuchOrder(order)
}

func (from *Producer) send(order Order) ([]Fields, error) {
	messages := make([]*primitive.Message, len(order.Messages))
	for at, each := range order.Messages {
		messages[at] = each.message()
	}
	switch order.Mode {
	case "async":
		return from.sendAsync(messages)
	case "batch":
		return from.sendAndWait(messages)
	}
	results := []Fields{}
	for _, message := range messages {
		if order.Mode == "oneway" {
			if err := from.plain.SendOneWay(context.Background(), message); err != nil {
				return nil, err
			}
			continue
		}
		result, err := from.sendAndWait([]*primitive.Message{message})
		if err != nil {
			return nil, err
		}
		results = append(results, result...)
	}
	return results, nil
}

func (from *Producer) sendAndWait(together []*primitive.Message) ([]Fields, error) {
	result, err := from.plain.SendSync(context.Background(), together...)
	if err != nil {
		return nil, err
	}
	return []Fields{sent(result)}, nil
}

func (from *Producer) sendAsync(messages []*primitive.Message) ([]Fields, error) {
	type outcome struct {
		result *primitive.SendResult
		err    error
	}
	outcomes := make(chan outcome, len(messages))
	called := func(_ context.Context, result *primitive.SendResult, err error) {
		outcomes <- outcome{result, err}
	}
	for _, message := range messages {
		if err := from.plain.SendAsync(context.Background(), called, message); err != nil {
			return nil, err
		}
	}
	results := []Fields{}
	for range messages {
		found := <-outcomes
		if found.err != nil {
			return nil, found.err
		}
		results = append(results, sent(found.result))
	}
	return results, nil
}

func (from *Producer) request(order Order) (any, error) {
	patience := time.Duration(order.Millis) * time.Millisecond
	reply, err := from.plain.Request(context.Background(), patience, order.Message.message())
	if err != nil {
		return nil, err
	}
	return string(reply.Body), nil
}

func (from *Producer) inTransactions() (*Transactions, error) {
	from.lock.Lock()
	defer from.lock.Unlock()
	if from.transactions != nil {
		return from.transactions, nil
	}
	order := from.order
	order.As += "-transactions"
	order.Group += "-transactions"
	transactions, err := newTransactions(order)
	if err == nil {
		from.transactions = transactions
	}
	return transactions, err
}

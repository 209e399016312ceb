package main

import (
	"context"
	"sync"

	rocketmq "github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/primitive"
)

var states = map[string]primitive.LocalTransactionState{
	"COMMIT_MESSAGE":   primitive.CommitMessageState,
	"ROLLBACK_MESSAGE": primitive.RollbackMessageState,
	"UNKNOW":           primitive.UnknowState,
}

// Transactions are those of one producer, by the keys of their messages.
type Transactions struct {
	producer rocketmq.TransactionProducer
	lock     sync.Mutex
	open     map[string]*transaction
}

// transaction has what to decide at first, and what at each check; the last stays.
type transaction struct {
	decisions []string
	checks    int
}

func newTransactions(order Order) (*Transactions, error) {
	all := &Transactions{open: map[string]*transaction{}}
	producer, err := rocketmq.NewTransactionProducer(all, producerOptions(order)...)
	if err != nil {
		return nil, err
	}
	all.producer = producer
	return all, producer.Start()
}

func (all *Transactions) send(order Order) (Fields, error) {
	all.lock.Lock()
	all.open[order.Message.Key] = &transaction{decisions: order.Decisions}
	all.lock.Unlock()
	message := order.Message.message()
	result, err := all.producer.SendMessageInTransaction(context.Background(), message)
	if err != nil {
		return nil, err
	}
	return sent(result.SendResult), nil
}

func (all *Transactions) checks(key string) int {
	all.lock.Lock()
	defer all.lock.Unlock()
	return all.open[key].checks
}

// ExecuteLocalTransaction is called by the library after the send.
func (all *Transactions) ExecuteLocalTransaction(
	message *primitive.Message,
) primitive.LocalTransactionState {
	return all.decide(message.GetKeys(), 0)
}

// CheckLocalTransaction is called by the library when the broker asks.
func (all *Transactions) CheckLocalTransaction(
	message *primitive.MessageExt,
) primitive.LocalTransactionState {
	return all.decide(message.GetKeys(), 1)
}

func (all *Transactions) decide(key string, checks int) primitive.LocalTransactionState {
	all.lock.Lock()
	defer all.lock.Unlock()
	asked := all.open[key]
	asked.checks += checks
	at := asked.checks
	if last := len(asked.decisions) - 1; at > last {
		at = last
	}
	return states[asked.decisions[at]]
}

package main

import (
	"context"
	"sync"
	"time"

	rocketmq "github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/admin"
	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
)

const (
	atOnce   = 32
	pollTime = 200 * time.Millisecond
)

// Reader asks for messages when it wants some.
type Reader struct {
	pull rocketmq.PullConsumer
}

func newReader(order Order) (*Reader, error) {
	if order.Expression == "" {
		order.Expression = "*"
	}
	puller, err := rocketmq.NewPullConsumer(consumerOptions(order)...)
	if err != nil {
		return nil, err
	}
	if err := puller.Subscribe(order.Topic, selector(order)); err != nil {
		return nil, err
	}
	return &Reader{puller}, puller.Start()
}

func (from *Reader) obey(order Order) (any, error) {
	switch order.Do {
	case "poll":
		return from.poll(order), nil
	case "stop":
		return nil, from.pull.Shutdown()
	}
	return nil, noSuchOrder(order)
}

func (from *Reader) poll(order Order) []Fields {
	found := []Fields{}
	end := time.Now().Add(time.Duration(order.Millis) * time.Millisecond)
	for len(found) < order.Count && time.Now().Before(end) {
		some, err := from.pull.Poll(context.Background(), pollTime)
		if err != nil {
			continue // there was nothing new
		}
		found = append(found, deliveries(some.GetMsgList())...)
		from.pull.ACK(context.Background(), some, consumer.ConsumeSuccess)
	}
	return found
}

// pull finds all that is in a topic. Queues are read beside each other, because a broker may wait
// for some seconds before it says that one is empty.
func pull(order Order) ([]Fields, error) {
	queues, err := queuesOf(order)
	if err != nil {
		return nil, err
	}
	reader, err := newReader(order)
	if err != nil {
		return nil, err
	}
	found := make([][]Fields, len(queues))
	errs := make([]error, len(queues))
	var reading sync.WaitGroup
	for at, queue := range queues {
		reading.Add(1)
		go func(at int, queue *primitive.MessageQueue) {
			defer reading.Done()
			found[at], errs[at] = reader.pullQueue(queue)
		}(at, queue)
	}
	reading.Wait()
	all := []Fields{}
	for at := range queues {
		if errs[at] != nil {
			return nil, errs[at]
		}
		all = append(all, found[at]...)
	}
	return all, reader.pull.Shutdown()
}

// queuesOf asks a client that all of them share: the library gives no other means, and takes what
// runs under the same name for the same client.
func queuesOf(order Order) ([]*primitive.MessageQueue, error) {
	nameServers := primitive.NewPassthroughResolver([]string{order.Namesrv})
	manager, err := admin.NewAdmin(admin.WithResolver(nameServers))
	if err != nil {
		return nil, err
	}
	return manager.FetchPublishMessageQueues(context.Background(), order.Topic)
}

func (from *Reader) pullQueue(queue *primitive.MessageQueue) ([]Fields, error) {
	found := []Fields{}
	for offset := int64(0); ; {
		some, err := from.pull.PullFrom(context.Background(), queue, offset, atOnce)
		if err != nil {
			return nil, err
		}
		found = append(found, deliveries(some.GetMessageExts())...)
		offset = some.NextBeginOffset
		if offset >= some.MaxOffset {
			return found, nil
		}
	}
}

func deliveries(messages []*primitive.MessageExt) []Fields {
	told := make([]Fields, len(messages))
	for at, message := range messages {
		told[at] = delivery(message)
	}
	return told
}

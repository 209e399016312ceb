// Apache's client for Go as the scenarios drive it: many orders at once, each answered under its
// number.
//
//	in:  {"id": 7, "do": "send", "as": "name of the client object", ...}
//	out: {"id": 7, "answer": ...} or {"id": 7, "error": "..."}
//
// It decides nothing: what was sent and what came is told as it was, and the scenario judges.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"sync"
)

// Order is one line of the input; what an order does not need is left out there.
type Order struct {
	ID                                    int
	Do, As, Namesrv, Namespace, Group     string
	Topic, Expression, Key, Mode, Replier string
	Account, Secret                       string
	SQL, Orderly, Broadcast               bool
	Fails, Count, Millis                  int
	Message                               Outgoing
	Messages                              []Outgoing
	Decisions                             []string
}

// Fields is a JSON object of an answer.
type Fields map[string]any

// Object is what a client library makes: a producer or a consumer.
type Object interface {
	obey(order Order) (any, error)
}

// Driver obeys.
type Driver struct {
	lock    sync.Mutex
	objects map[string]Object
	answers *json.Encoder
}

func main() {
	driver := Driver{objects: map[string]Object{}, answers: json.NewEncoder(os.Stdout)}
	os.Stdout = os.Stderr // what the library prints is no answer
	orders := json.NewDecoder(os.Stdin)
	for {
		var order Order
		if orders.Decode(&order) != nil {
			return
		}
		go driver.reply(order)
	}
}

func (driver *Driver) reply(order Order) {
	answer, err := driver.answer(order)
	reply := Fields{"id": order.ID, "answer": answer}
	if err != nil {
		reply = Fields{"id": order.ID, "error": fmt.Sprintf("%s: %v", order.Do, err)}
	}
	driver.lock.Lock()
	defer driver.lock.Unlock()
	if err := driver.answers.Encode(reply); err != nil {
		panic(err)
	}
}

func (driver *Driver) answer(order Order) (any, error) {
	switch order.Do {
	case "produce":
		producer, err := newProducer(order)
		return nil, driver.keep(order.As, producer, err)
	case "consume":
		replier, _ := driver.find(order.Replier).(*Producer)
		consumer, err := newConsumer(order, replier)
		return nil, driver.keep(order.As, consumer, err)
	case "read":
		reader, err := newReader(order)
		return nil, driver.keep(order.As, reader, err)
	case "pull":
		return pull(order)
	}
	object := driver.find(order.As)
	if object == nil {
		return nil, fmt.Errorf("there is no %q", order.As)
	}
	return object.obey(order)
}

func (driver *Driver) find(name string) Object {
	driver.lock.Lock()
	defer driver.lock.Unlock()
	return driver.objects[name]
}

func (driver *Driver) keep(name string, object Object, err error) error {
	if err == nil {
		driver.lock.Lock()
		defer driver.lock.Unlock()
		driver.objects[name] = object
	}
	return err
}

func noSuchOrder(order Order) error {
	return fmt.Errorf("no such order for %s", order.As)
}

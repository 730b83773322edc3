// Uses a client that openapi-generator has made with its generator `go`.
//
// usage: client URL KEY RECEIVER
package main

import (
	"context"
	"log"
	"os"

	"herald"
)

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func expect(holds bool, what any) {
	if !holds {
		log.Fatalf("%+v", what)
	}
}

func main() {
	configuration := herald.NewConfiguration()
	configuration.Servers = herald.ServerConfigurations{{URL: os.Args[1]}}
	client := herald.NewAPIClient(configuration)
	context := context.WithValue(context.Background(), herald.ContextAccessToken, os.Args[2])

	registration := herald.NewDelegateRegistration()
	registration.SetUrl(os.Args[3])
	registration.SetEvents([]string{"order.*"})
	registration.SetOrdering(herald.SUBJECT)
	added, _, err := client.DelegatesAPI.RegisterDelegate(context).DelegateRegistration(*registration).Execute()
	check(err)
	delegate := added.RegisteredDelegate
	expect(delegate.GetSecret() != "" && delegate.GetOrdering() == herald.SUBJECT, delegate)
	added, _, err = client.DelegatesAPI.RegisterDelegate(context).DelegateRegistration(*registration).Execute()
	check(err)
	again := added.RegisteredDelegate
	expect(again.GetId() == delegate.GetId() && !again.HasSecret(), again)

	event := herald.NewEventInput("order.placed")
	event.SetData(map[string]any{"total": 12.5})
	one := herald.EventInputAsPostInput(event)
	posted, _, err := client.EventsAPI.PostEvents(context).PostInput(one).Prefer("wait=30").Execute()
	check(err)
	first := posted.PostedEvent
	expect(first != nil && len(first.GetDeliveries()) == 1, posted)
	expect(first.GetDeliveries()[0].GetStatusCode() == 204, first)
	several := []herald.BatchEvent{*herald.NewBatchEvent("order.paid"), *herald.NewBatchEvent("order.shipped")}
	input := herald.ArrayOfBatchEventAsPostInput(&several)
	batch, _, err := client.EventsAPI.PostEvents(context).PostInput(input).Execute()
	check(err)
	expect(batch.PostedBatch != nil && len(batch.PostedBatch.GetData()) == 2, batch)

	page, _, err := client.EventsAPI.ListEvents(context).Type_("order.*").Limit(2).Execute()
	check(err)
	expect(len(page.GetData()) == 2 && page.GetNextCursor() != "", page)
	delegates, _, err := client.DelegatesAPI.ListDelegates(context).Execute()
	check(err)
	expect(len(delegates.GetData()) > 1 && delegates.GetData()[0].WebhookDelegate != nil, delegates)
	story, _, err := client.EventsAPI.GetEvent(context, first.GetId()).Execute()
	check(err)
	expect(len(story.GetDeliveries()) == 1 && story.GetDeliveries()[0].GetDelegate() == delegate.GetId(), story)

	rotation := herald.NewSecretRotation()
	rotation.SetOverlapSeconds(60)
	rotated, _, err := client.DelegatesAPI.RotateSecret(context, delegate.GetId()).SecretRotation(*rotation).Execute()
	check(err)
	expect(rotated.GetSecret() != delegate.GetSecret(), rotated)
	_, err = client.DelegatesAPI.UnregisterDelegate(context, delegate.GetId()).Execute()
	check(err)
}

// Queues, topics, buses and buckets. AWS verifies its own signature of requests, which `auth` makes.

extension Preset {
    /// Amazon SQS, `SendMessage` of the query protocol: the URL is that of the queue.
    static let sqs = """
        {"headers": {"Content-Type": "application/x-www-form-urlencoded"}, "form": true, "sign": [],
         "auth": {"aws": {"service": "sqs"}},
         "body": {"Action": "SendMessage", "Version": "2012-11-05", "MessageBody": "\(eventAsText)",
          "MessageAttribute.1.Name": "type", "MessageAttribute.1.Value.DataType": "String",
          "MessageAttribute.1.Value.StringValue": "{{ type }}"}}
        """

    /// Amazon SNS, `Publish`: the URL is `https://sns.REGION.amazonaws.com/`.
    static let sns = """
        {"headers": {"Content-Type": "application/x-www-form-urlencoded"}, "form": true, "sign": [],
         "auth": {"aws": {"service": "sns"}},
         "body": {"Action": "Publish", "Version": "2010-03-31", "TopicArn": "{{ delegate.metadata.topic_arn }}",
          "Message": "\(eventAsText)",
          "MessageAttributes.entry.1.Name": "type", "MessageAttributes.entry.1.Value.DataType": "String",
          "MessageAttributes.entry.1.Value.StringValue": "{{ type }}"}}
        """

    /// Amazon EventBridge, `PutEvents`: the URL is `https://events.REGION.amazonaws.com/`. A refused entry is a 200.
    static let eventbridge = """
        {"headers": {"Content-Type": "application/x-amz-json-1.1", "X-Amz-Target": "AWSEvents.PutEvents"}, "sign": [],
         "auth": {"aws": {"service": "events"}},
         "body": {"Entries": [{"Source": "{{ source ?? 'herald' }}", "DetailType": "{{ type }}", "Detail": "\(eventAsText)",
          "Time": "{{ time | unix }}", "EventBusName": "{{ delegate.metadata.event_bus ?? 'default' }}"}]},
         "success": {"body": {"FailedEntryCount": [0]}}}
        """

    /// Amazon S3, and storage that is compatible with it: the URL is that of the bucket. The object of an event has its id.
    static let s3 = """
        {"method": "PUT", "path": "/{{ type }}/{{ id }}.json", "headers": {"Content-Type": "application/json"}, "sign": [],
         "auth": {"aws": {"service": "s3"}},
         "body": {"id": "{{ id }}", "type": "{{ type }}", "time": "{{ time }}", "subject": "{{ subject }}",
          "data": "{{ data }}"}}
        """

    /// Cloudflare Queues: the URL is `https://api.cloudflare.com/client/v4/accounts/ACCOUNT/queues/QUEUE/messages`; a header
    /// of the delegate has the token.
    static let cloudflareQueue = """
        {"sign": [], "body": {"content_type": "json", "body": {"id": "{{ id }}", "type": "{{ type }}", "time": "{{ time }}",
          "subject": "{{ subject }}", "data": "{{ data }}"}},
         "success": {"body": {"success": [true]}}}
        """
}

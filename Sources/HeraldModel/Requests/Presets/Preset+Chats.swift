// Rooms of chats. They do not verify signatures, so requests have none: the URL is the secret.

extension Preset {
    /// Incoming webhooks of Slack: docs.slack.dev/messaging/sending-messages-using-incoming-webhooks. Slack's texts have at
    /// most 40,000 characters; escaping makes five of one at most.
    static let slack = """
        {"sign": [], "body": {
          "text": {"$if": {"subject": [{"exists": true}]},
            "then": "*{{ type | escape slack }}*  {{ subject | escape slack }}\\n```{{ data | json | truncate 3000 | escape slack }}```",
            "else": "*{{ type | escape slack }}*\\n```{{ data | json | truncate 3000 | escape slack }}```"}}}
        """

    /// Webhooks of Microsoft Teams by Workflows: a message with an Adaptive Card of version 1.4, at most 28 KiB. A run of text
    /// shows its characters, while the text of a block is Markdown.
    static let teams = """
        {"sign": [], "body": {"type": "message", "attachments": [{
          "contentType": "application/vnd.microsoft.card.adaptive",
          "content": {"type": "AdaptiveCard", "$schema": "http://adaptivecards.io/schemas/adaptive-card.json", "version": "1.4",
            "body": [
              {"type": "RichTextBlock", "inlines": [
                {"type": "TextRun", "text": "{{ type }}", "weight": "Bolder", "size": "Medium"}]},
              {"type": "RichTextBlock", "inlines": [
                {"type": "TextRun", "text": "{{ subject }} ", "isSubtle": true}]},
              {"type": "RichTextBlock", "inlines": [
                {"type": "TextRun", "text": "{{ data | json | truncate 3000 }}", "fontType": "Monospace"}]}]}}]}}
        """

    /// Webhooks of Discord: docs.discord.com/developers/resources/webhook#execute-webhook. Limits of characters: title and
    /// author 256, description 4,096, footer 2,048; one beyond U+FFFF may count as two. A value notifies no user, and makes no link.
    static let discord = """
        {"sign": [], "body": {"allowed_mentions": {"parse": []}, "embeds": [{"$merge": [
          {"title": "{{ type }}", "timestamp": "{{ time }}", "footer": {"text": "{{ id }}"},
           "description": "```json\\n{{ data | json | truncate 2000 | escape code | truncate 2000 }}\\n```"},
          {"$if": {"subject": [{"exists": true}]}, "then": {"author": {"name": "{{ subject | truncate 128 }}"}}}]}]}}
        """

    /// Webhooks of Google Chat: developers.google.com/workspace/chat/api/reference/rest/v1/spaces.messages, at most 32,000
    /// bytes. A paragraph has some tags of HTML.
    static let googleChat = """
        {"sign": [], "body": {"fallbackText": "{{ type }} {{ subject }}", "cardsV2": [{"cardId": "event", "card": {
          "header": {"title": "{{ type }}", "subtitle": "{{ subject ?? source ?? id }}"},
          "sections": [{"widgets": [
            {"textParagraph": {"text": "{{ data | json | truncate 2000 | escape html }}"}}]}]}}]}}
        """

    /// Incoming webhooks of Mattermost: developers.mattermost.com/integrate/webhooks/incoming, at most 16,383 characters. Only in
    /// a block of code is `@channel` a text. The JSON of a value has no line that could end the block.
    static let mattermost = """
        {"sign": [], "body": {
          "text": {"$if": {"subject": [{"exists": true}]},
            "then": "**{{ type }}**\\n~~~~~~~json\\n{{ subject | json }}\\n{{ data | json | truncate 3000 }}\\n~~~~~~~",
            "else": "**{{ type }}**\\n~~~~~~~json\\n{{ data | json | truncate 3000 }}\\n~~~~~~~"}}}
        """

    /// Events of PagerDuty, version 2: developer.pagerduty.com/docs/send-alert-event. Limits of characters: `summary` 1,024,
    /// `dedup_key` 255.
    static let pagerduty = """
        {"sign": [], "body": {
          "routing_key": "{{ delegate.metadata.routing_key }}",
          "event_action": {"$if": {"type": [{"suffix": ".resolved"}]}, "then": "resolve", "else": "trigger"},
          "dedup_key": "{{ subject ?? id | truncate 255 }}",
          "payload": {
            "summary": "{{ type }} {{ subject }}",
            "source": "{{ source ?? 'herald' }}",
            "severity": {"$if": {"data": {"severity": ["critical", "error", "warning", "info"]}},
              "then": "{{ data.severity }}", "else": "error"},
            "timestamp": "{{ time }}",
            "custom_details": {"id": "{{ id }}", "data": "{{ data }}"}}}}
        """
}

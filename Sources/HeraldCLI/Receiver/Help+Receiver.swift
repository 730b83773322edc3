import HeraldReceiver

extension Help {
    static var receiver: String {
        """
        Usage: herald receiver [FLAGS]

        Receives webhooks and prints them, until TERM or INT. It responds with 200, or as the URL says: a path such as
        /status/503/delay/2, a query such as /hook?status=503&delay=2, or a script. It responds to OPTIONS with the
        CloudEvents handshake. It speaks HTTP/1.1 and HTTP/2.

        \(entries(ReceiverSettings.flags.map { ($0.usage, $0.help) }))

        Directives of a URL. They can be combined: /flaky/3/delay/1 is the same as ?flaky=3&delay=1.
        A flood of frames (data, priority, window-update) needs HTTP/2, and one of key-update TLS.

        \(entries(Directive.all.map { ($0.usage, $0.help) }))

        A script is an object of paths. Each has directives, or an array of them that are used in turn; * is all other paths:

          {
            "/orders": [{"status": 503, "retry-after": 2, "times": 3}, {"status": 200, "delay": 0.5}],
            "*": {"echo": true}
          }

        With --control, these requests to another port change its behaviour while it runs:

        \(entries(ReceiverControl.requests.map { ($0.usage, $0.help) }))

        Exit codes: 0 stopped by a signal; 64 invalid arguments; 69 cannot listen on the address.
        """
    }
}

extension EventStreams {
    /// Ends streams whose clients may listen no longer. Any thread; they end soon after.
    public func end(where isMeant: (EventStream) -> Bool) {
        for stream in all where isMeant(stream) { perform { stream.output.end() } }
    }
}

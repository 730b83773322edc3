extension HTTPClient {
    /// Asks, and hands out the body of a success as it comes, for as long as it comes: `timeoutSeconds` of the request is
    /// not for it. The body of any other answer is gathered.
    /// - Parameters:
    ///   - silenceSeconds: how long nothing may come before the connection counts as lost.
    ///   - goesOn: asked about once a second, on the calling thread; `false` ends it.
    ///   - take: gets the bytes, for as long as it runs; `false` ends it. The server may wait meanwhile.
    /// - Returns: the answer, when it has ended.
    public func stream(
        _ request: HTTPRequest, silenceSeconds: Int, goesOn: () -> Bool, take: (UnsafeRawBufferPointer) -> Bool
    ) throws(HTTPClientError) -> HTTPAnswer {
        var request = request
        request.timeoutSeconds = 0
        let result: Result<HTTPAnswer, HTTPClientError> = withoutActuallyEscaping(goesOn) { goesOn in
            withoutActuallyEscaping(take) { take in
                let stream = Exchange.Stream(silenceSeconds: silenceSeconds, take: take, goesOn: goesOn)
                let exchange = Exchange(maxBodyBytes: Self.maxRefusalBytes, stream: stream)
                do throws(HTTPClientError) {
                    return .success(try send(request, exchange))
                } catch {
                    return .failure(error)
                }
            }
        }
        return try result.get()
    }

    /// Of an answer that is no success.
    private static let maxRefusalBytes = 1 << 20
}

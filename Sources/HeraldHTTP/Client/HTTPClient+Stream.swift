extension HTTPClient {
    /// Sends a request, and passes on the body of a success as it arrives, without the request's timeout. The
    /// body of any other response is collected.
    /// - Parameters:
    ///   - silenceSeconds: the longest time without data before the connection counts as lost.
    ///   - shouldContinue: called about once a second, on the calling thread; `false` ends the stream.
    ///   - take: receives the bytes, which are valid during the call; `false` ends the stream. The server waits for
    ///     its return.
    /// - Returns: the response, when the stream has ended.
    package func stream(
        _ request: HTTPRequest, silenceSeconds: Int, shouldContinue: () -> Bool, take: (UnsafeRawBufferPointer) -> Bool
    ) throws(HTTPClientError) -> HTTPResponse {
        var request = request
        request.timeoutMilliseconds = 0
        let result: Result<HTTPResponse, HTTPClientError> = withoutActuallyEscaping(shouldContinue) { shouldContinue in
            withoutActuallyEscaping(take) { take in
                let stream = Exchange.Stream(silenceSeconds: silenceSeconds, take: take, shouldContinue: shouldContinue)
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

    /// For a response other than a success.
    private static let maxRefusalBytes = 1 << 20
}

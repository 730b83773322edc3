import Testing

@testable import HeraldWebhooks

/// The signatures are those that Amazon's documentation of S3 gives, and those of the package `botocore` of PyPI.
@Suite("Amazon's signature", .timeLimit(.minutes(20))) struct AWSSignerTests {
    private func lines(
        _ method: String, _ url: String, _ headers: [String] = [], body: String = "", service: String = "s3",
        region: String = "eu-central-1"
    ) throws -> [String] {
        let signer = AWSSigner(
            region: region, service: service, keyID: "AKIAIOSFODNN7EXAMPLE",
            secret: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY")
        return try signer.lines(
            method, try CallbackURL(url), headers, body: Array(body.utf8), now: 1_369_353_600_999)
    }

    @Test("the examples of S3 have the signatures that its documentation gives")
    func documented() throws {
        let lifecycle = try lines("GET", "https://examplebucket.s3.amazonaws.com/?lifecycle", region: "us-east-1")
        #expect(
            lifecycle == [
                "x-amz-date: 20130524T000000Z",
                "x-amz-content-sha256: e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
                "authorization: AWS4-HMAC-SHA256 "
                    + "Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, "
                    + "SignedHeaders=host;x-amz-content-sha256;x-amz-date, "
                    + "Signature=fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543",
            ])
        // Sorted, whatever the order in the URL is.
        for query in ["max-keys=2&prefix=J", "prefix=J&max-keys=2"] {
            let list = try lines("GET", "https://examplebucket.s3.amazonaws.com/?\(query)", region: "us-east-1")
            #expect(
                list.last?.hasSuffix("34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7") == true)
        }
    }

    @Test("S3 encodes a path once, other services twice; the type and all headers of Amazon are signed, and no other")
    func paths() throws {
        let object = try lines(
            "PUT", "https://orders.s3.eu-central-1.amazonaws.com/order.paid/a%3Ab.json",
            ["Content-Type: application/json", "X-Amz-Storage-Class:   REDUCED_REDUNDANCY ", "X-Other: 1"],
            body: #"{"a":1}"#)
        let names = "=content-type;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class,"
        #expect(object.last?.contains(names) == true)
        #expect(object.last?.hasSuffix("a57ec0c6b0ef4003bb618e045d4aedf14bc1d664c1ab72a1bad95d2bde457b4e") == true)
        let call = try lines(
            "POST", "https://api.example.com:8443/prod/order%3A1?b=2&a=%C3%BC%20x",
            ["content-type: application/json", "x-amz-security-token: T0/+="], body: #"{"a":1}"#,
            service: "execute-api")
        #expect(call.last?.hasSuffix("a9ebfbd6c0e74807dcd2e3e7d6f9ecf6e59d243d1e0bd3a93db3d86865ce07af") == true)
    }

    @Test("several slashes are one, except for S3; a plus sign is a space; a header that is not sent is not signed")
    func forms() throws {
        for url in ["//prod//order%3A1/?b=2&a=%C3%BC+x", "/prod/order%3A1/?a=%c3%bc%20x&b=2"] {
            let call = try lines(
                "POST", "https://api.example.com:8443" + url,
                ["content-type: application/json", "x-amz-security-token: T0/+=", "x-amz-none:"], body: #"{"a":1}"#,
                service: "execute-api")
            #expect(
                call.last?.hasSuffix("1ad0a0ca0c2f249101e81db19f676907db1660817893f692bed3a30509b5b367") == true)
        }
        let object = try lines("PUT", "https://b.s3.amazonaws.com//a//b", body: #"{"a":1}"#)
        #expect(object.last?.hasSuffix("9384dc0c885851ba29fffce292fe735587355269804951a0dbb7286a65eff8b9") == true)
    }

    @Test("a digest that the recipe has is the one that is signed")
    func ownDigest() throws {
        let headers = ["X-Amz-Content-Sha256: UNSIGNED-PAYLOAD"]
        let made = try lines("PUT", "https://b.s3.amazonaws.com/k", headers, body: "a")
        #expect(made.count == 2)
        let other = try lines("PUT", "https://b.s3.amazonaws.com/k", headers, body: "b")
        #expect(made.last == other.last)
    }
}

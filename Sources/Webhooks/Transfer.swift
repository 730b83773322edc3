import CCurl
import Crypto
import Glibc
import Herald

/// A libcurl handle with all that it needs beside it, used for one callback after the other for ever.
///
/// Belongs to one sender and its thread. libcurl holds its address, and those of the memory it owns: the sender keeps
/// it alive until the handle is gone.
final class Transfer {
    let index: Int
    let easy: UnsafeMutableRawPointer
    let addressGuard: AddressGuard

    // What it is doing.
    private(set) var target: Target?
    private(set) var pin: Pin?
    private(set) var callback: Callback?
    /// Nanoseconds of the monotonic clock.
    var startedAt: Int64 = 0
    /// How many addresses of the host were tried.
    var dials = 0
    var isOpen: Bool { callback != nil }
    private var timeout = 0

    // What came back.
    var headerCount = 0
    var bodyCount = 0
    var excerpt: [UInt8] = []
    /// The text of the header.
    var retryAfter: [UInt8]?
    /// The rule by which the guard stopped it.
    var refusal: String?

    let errorText: UnsafeMutablePointer<CChar>
    private let head: DynamicHeaders

    /// `nil` when libcurl has no memory or lacks one of the options.
    init?(index: Int, sender: UnsafeMutableRawPointer, addressGuard: AddressGuard, caFile: String?) {
        guard let easy = curl_easy_init() else { return nil }
        self.index = index
        self.easy = easy
        self.addressGuard = addressGuard
        head = DynamicHeaders()
        errorText = .allocate(capacity: Int(CURL_ERROR_SIZE))
        errorText.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
        let own = Unmanaged.passUnretained(self).toOpaque()
        func configure(_ caFile: UnsafePointer<CChar>?) -> Bool {
            var settings = herald_easy_settings(
                transfer: own, sender: sender, error_text: errorText, headers: head.first, ca_file: caFile,
                body: onBody, header: onHeader, open_socket: onOpenSocket, close_socket: onCloseSocket,
                before_request: onRequest)
            return herald_easy_configure(easy, &settings) == 1
        }
        guard caFile.map({ $0.withCString { configure($0) } }) ?? configure(nil) else { return nil }
    }

    deinit {
        curl_easy_cleanup(easy)
        errorText.deallocate()
    }

    /// Prepares the handle for a callback. What its last one had in common with this one stays as it is.
    /// - Parameter milliseconds: what is left of the time for this attempt.
    func prepare(
        _ callback: Callback, _ target: Target, _ pin: Pin, timestamp: Int64, milliseconds: Int
    ) throws(TransferError) {
        if self.target !== target {
            guard herald_easy_set_url(easy, target.url.text) == 1 else { throw .url }
            head.setRest(target.headers)
            self.target = target
        }
        if self.pin !== pin {
            herald_easy_set_connect_to(easy, pin.connectTo?.first)
            self.pin = pin
        }
        if timeout != milliseconds {
            herald_easy_set_timeouts(easy, milliseconds, min(milliseconds, 5000))
            timeout = milliseconds
        }
        try head.write(callback, target, timestamp: timestamp)
        callback.event.body.withUnsafeBytes { body in
            // The event owns its bytes, which nothing moves, and this object keeps the event until libcurl is done.
            herald_easy_set_body(easy, body.baseAddress ?? UnsafeRawPointer(errorText), body.count)
        }
        self.callback = callback
        headerCount = 0
        bodyCount = 0
        retryAfter = nil
        refusal = nil
        errorText.pointee = 0
    }

    /// Lets go of the callback. The target stays, for the next callback to the same delegate.
    func clear() {
        callback = nil
        excerpt = []
    }
}

enum TransferError: Error {
    /// libcurl didn't take the URL that it had printed itself.
    case url
    case eventID
    case signing(CryptoError)

    var detail: String {
        switch self {
        case .url: "libcurl has no memory for the URL"
        case .eventID: "the event's id can't stand in a header"
        case .signing(let error): error.description
        }
    }
}

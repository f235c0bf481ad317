import HTTPRequesting
import NIOHTTP1
import NIOSSL

/// Sends one request and waits for its answer until a timeout. Failures are part of the outcome.
package struct Exchange: Sendable {
    private let perform: @Sendable (OutboundRequest, Duration) async -> ExchangeOutcome

    package init(_ perform: @escaping @Sendable (_ request: OutboundRequest, _ timeout: Duration) async -> ExchangeOutcome) {
        self.perform = perform
    }

    package func send(_ request: OutboundRequest, timeout: Duration) async -> ExchangeOutcome {
        await perform(request, timeout)
    }
}

/// A request to exactly this address: redirects are not followed.
package struct OutboundRequest: Sendable {
    package enum Method: String, Sendable {
        case get = "GET"
        case post = "POST"
        case put = "PUT"
    }

    package var method: Method
    package var url: String
    package var headers: [(name: String, value: String)]
    package var body: [UInt8]
    /// The largest accepted answer body.
    package var maximumAnswerBytes: Int

    package init(
        _ method: Method,
        _ url: String,
        headers: [(name: String, value: String)] = [],
        body: [UInt8] = [],
        maximumAnswerBytes: Int
    ) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
        self.maximumAnswerBytes = maximumAnswerBytes
    }
}

extension OutboundRequest: CustomStringConvertible, CustomReflectable {
    /// Shows neither fields nor body: they hold secrets.
    package var description: String { "\(method.rawValue) \(url)" }
    package var customMirror: Mirror { Mirror(self, children: ["method": method.rawValue, "url": url]) }
}

/// The outcome of a request.
package enum ExchangeOutcome: Sendable {
    case answer(HTTPAnswer)
    case failure(ExchangeFailure)
}

/// An answer, whatever its status.
package struct HTTPAnswer: Sendable {
    package let status: Int
    /// The Retry-After field as it was sent: its meaning differs between services.
    package let retryAfter: String?
    /// The Date field as it was sent.
    package let date: String?
    /// What Apple's support asks for: the x-apple-request-uuid field, or x-apple-jingle-correlation-key.
    package let requestID: String?
    package let body: [UInt8]

    package init(status: Int, retryAfter: String? = nil, date: String? = nil, requestID: String? = nil, body: [UInt8] = []) {
        self.status = status
        self.retryAfter = retryAfter
        self.date = date
        self.requestID = requestID
        self.body = body
    }
}

extension HTTPAnswer: CustomStringConvertible, CustomReflectable {
    /// Shows only the length of the body.
    package var description: String { "status \(status), \(body.count) bytes" }
    package var customMirror: Mirror { Mirror(self, children: ["status": status]) }
}

/// Why there is no answer; the raw value is the code that is stored and shown.
package enum ExchangeFailure: String, CaseIterable, Sendable {
    case timedOut = "timed_out"
    /// The connection could not be opened, or it broke.
    case connectionFailed = "connection_failed"
    /// The server's certificate is not trusted, or the TLS handshake failed.
    case tlsFailed = "tls_failed"
    /// What the server sends is no answer of HTTP, or has a status that does not exist.
    case answerMalformed = "answer_malformed"
    /// The answer is larger than the request allows.
    case answerTooLarge = "answer_too_large"
    /// The address is malformed or too long. A setting is wrong, or what an answer said goes into an address.
    case invalidAddress = "invalid_address"
    /// This process shuts down.
    case shuttingDown = "shutting_down"
}

extension Exchange {
    /// How requests are sent.
    package struct Configuration: Sendable {
        /// PEM files with additional trusted certificates, for tests and demos.
        package var extraRootPaths: [String] = []
        package var connectTimeout: Duration = .seconds(5)

        package init() {}
    }

    /// The longest URL of a request. Servers, Apple's among them, refuse longer ones.
    static let maximumURLBytes = 8192

    /// Runs `body` with an exchange over HTTP/1.1 and TLS.
    ///
    /// It verifies certificates and host names, follows no redirect, uses no proxy, does not decompress answers, and logs nothing.
    ///
    /// - Throws: when a file of `extraRootPaths` cannot be used.
    package static func withClient<T: Sendable>(
        _ configuration: Configuration,
        orUsing exchange: Exchange? = nil,
        _ body: @Sendable (Exchange) async throws -> T
    ) async throws -> T {
        if let exchange { return try await body(exchange) }
        let tls = try TLSConfiguration.client(trusting: configuration.extraRootPaths)
        let client = try DirectClient(tls: tls, connectTimeout: configuration.connectTimeout)
        defer { client.close() }
        return try await body(Exchange { request, timeout in await client.outcome(of: request, timeout: timeout) })
    }
}

extension DirectClient {
    fileprivate func outcome(of request: OutboundRequest, timeout: Duration) async -> ExchangeOutcome {
        guard request.url.utf8.count <= Exchange.maximumURLBytes else { return .failure(.invalidAddress) }
        let address: HTTPAddress
        do throws(HTTPAddressError) { address = try HTTPAddress(request.url) } catch { return .failure(.invalidAddress) }
        let http = HTTPRequest(
            HTTPMethod(rawValue: request.method.rawValue),
            address,
            headers: request.headers,
            body: request.body,
            maximumBytes: request.maximumAnswerBytes
        )
        do throws(ExchangeError) {
            let answer = try await send(http, timeout: timeout)
            let fields = answer.headers
            return .answer(
                HTTPAnswer(
                    status: answer.status,
                    retryAfter: fields.first(name: "retry-after"),
                    date: fields.first(name: "date"),
                    requestID: fields.first(name: "x-apple-request-uuid") ?? fields.first(name: "x-apple-jingle-correlation-key"),
                    body: answer.body
                )
            )
        } catch {
            return .failure(ExchangeFailure(error.kind))
        }
    }
}

extension ExchangeFailure {
    fileprivate init(_ kind: ExchangeError.Kind) {
        self =
            switch kind {
            case .timedOut: .timedOut
            case .cancelled: .shuttingDown
            case .connectionFailed, .reusedConnectionClosed: .connectionFailed
            case .tlsFailed: .tlsFailed
            case .invalidRequest: .invalidAddress
            case .invalidAnswer: .answerMalformed
            case .tooLarge: .answerTooLarge
            }
    }
}

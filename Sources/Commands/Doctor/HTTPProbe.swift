import HTTPRequesting
import HTTPServing
import NIOHTTP1
import NIOSSL
import StrictJSON

/// One request to a listener or to the public URL.
enum HTTPProbe {
    struct Answer: Sendable {
        let status: Int
        /// The kind of problem when this program answered with one (RFC 9457), such as `database-refused`.
        let reason: String?
        /// What the problem says to do.
        let detail: String?
    }

    /// No answer came.
    struct NoAnswer: Error, CustomStringConvertible {
        let description: String
        /// The user of this process may not open the Unix socket.
        var isDenied = false
    }

    /// Sends a request, with a JSON body where there is one, and follows no redirect.
    ///
    /// - Parameter tls: for https.
    static func send(_ method: HTTPMethod, _ address: HTTPAddress, body: String? = nil, tls: TLSConfiguration? = nil)
        async throws(NoAnswer) -> Answer
    {
        var request = HTTPRequest(method, address, maximumBytes: 1 << 20)
        if let body {
            request.headers = [("content-type", "application/json")]
            request.body = Array(body.utf8)
        }
        do {
            let client = try DirectClient(tls: tls)
            defer { client.close() }
            let answer = try await client.send(request, timeout: .seconds(10))
            return Answer(status: answer.status, body: answer.body)
        } catch {
            let failure = ExchangeError(error)
            throw NoAnswer(
                description: failure.kind == .timedOut ? "no answer in time" : failure.description,
                isDenied: failure.isDenied
            )
        }
    }
}

extension HTTPProbe.Answer {
    fileprivate init(status: Int, body: [UInt8]) {
        let problem = Self.object(body)
        let type = problem.word("type") ?? ""
        let isOwn = type.hasPrefix(Problem.typePrefix)
        self.init(
            status: status,
            reason: isOwn ? String(type.dropFirst(Problem.typePrefix.count)) : nil,
            detail: isOwn ? problem.word("detail") : nil
        )
    }

    /// Without members where another program, such as nginx, has answered with no JSON.
    private static func object(_ body: [UInt8]) -> JSONObject {
        do { return try JSONParser().parseObject(body) } catch { return JSONObject() }
    }
}

/// The address to which Apple posts notifications.
struct PublicURL: Sendable {
    /// The path of notifications V2.
    static let notifications = "/apple/v2/notifications"

    let isTLS: Bool
    let host: String
    let port: Int
    /// With the path of notifications where the text names none.
    let address: HTTPAddress

    /// Nil unless the text is `https://HOST…` or `http://HOST…`.
    init?(_ text: String) {
        let given: HTTPAddress
        do throws(HTTPAddressError) { given = try HTTPAddress(text) } catch { return nil }
        guard case .host(let host, let port, let usesTLS) = given.place else { return nil }
        (self.host, self.port, isTLS) = (host, port, usesTLS)
        address = given.target == "/" ? HTTPAddress(given.place, target: PublicURL.notifications) : given
    }
}

extension HTTPAddress {
    /// A path of a listener, as this machine reaches it. Nil for an inherited socket, and where the operating system chooses the port.
    init?(_ listener: ListenAddress, target: String) {
        switch listener.reach {
        case .tcp(let host, let port)?: self.init(.host(host, port: port, usesTLS: false), target: target)
        case .unix(let path)?: self.init(.socket(path: path), target: target)
        case nil: return nil
        }
    }
}

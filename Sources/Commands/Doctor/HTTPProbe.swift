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

import AsyncHTTPClient
import Glibc
import HTTPServing
import NIOCore
import NIOHTTP1
import NIOPosix
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
    static func send(_ method: HTTPMethod, _ url: String, body: String? = nil, tls: TLSConfiguration? = nil) async throws(NoAnswer)
        -> Answer
    {
        var configuration = HTTPClient.Configuration(tlsConfiguration: tls, redirectConfiguration: .disallow)
        configuration.timeout.connect = .seconds(5)
        configuration.connectionPool.retryConnectionEstablishment = false
        var request = HTTPClientRequest(url: url)
        request.method = method
        // A socket's path is no host (RFC 9110, section 7.2).
        if url.hasPrefix("http+unix:") { request.headers.add(name: "host", value: "localhost") }
        if let body {
            request.headers.add(name: "content-type", value: "application/json")
            request.body = .bytes(ByteBuffer(string: body))
        }
        do {
            return try await HTTPClient.withHTTPClient(configuration: configuration) { [request] client in
                let response = try await client.execute(request, timeout: .seconds(10))
                return Answer(status: Int(response.status.code), body: Array(buffer: try await response.body.collect(upTo: 1 << 20)))
            }
        } catch {
            throw NoAnswer(error)
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

extension HTTPProbe.NoAnswer {
    fileprivate init(_ error: any Error) {
        let cause = (error as? NIOConnectionError)?.connectionErrors.first?.error ?? error
        switch cause {
        case let error as IOError:
            self.init(description: String(cString: strerror(error.errnoCode)), isDenied: error.errnoCode == EACCES)
        case let error as HTTPClientError where error == .connectTimeout || error == .deadlineExceeded:
            self.init(description: "no answer in time")
        default:
            self.init(description: "\(cause)")
        }
    }
}

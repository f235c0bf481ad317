package import AppStore
import AsyncHTTPClient
import FoundationEssentials
import Glibc
import HTTPServing
import NIOCore
import NIOHTTP1
import NIOPosix

/// Posts notifications over plain HTTP, as a proxy does that terminates TLS. Keeps its connections alive.
package final class NotificationPost: Sendable {
    /// The answer to a post.
    package struct Answer: Hashable, Sendable {
        package let status: Int
        /// The pause before the next attempt that the server asks for.
        package let retryAfter: Duration?
    }

    /// No answer: the server may have stored the body. Posting it again does no harm.
    package struct NoAnswer: Error, CustomStringConvertible {
        package let description: String
    }

    private static let notifications = "/apple/v2/notifications"
    private static let legacyNotifications = "/apple/v1/notifications"

    /// Scheme and authority, as AsyncHTTPClient writes them: `http+unix://` with the escaped path of a socket, or `http://HOST:PORT`.
    private let origin: String
    private let path: String
    /// The address for messages.
    private let name: String
    private let client: HTTPClient

    private init(origin: String, path: String, name: String) {
        self.origin = origin
        self.path = path
        self.name = name
        var configuration = HTTPClient.Configuration(redirectConfiguration: .disallow)
        configuration.timeout.connect = .seconds(5)
        // A refused connection is reported at once: the caller retries.
        configuration.connectionPool.retryConnectionEstablishment = false
        client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    }

    /// Calls `body` with the address of that URL, or else with the address at which ingest listens according to its settings.
    ///
    /// - Throws: ``SettingsError``, also where the settings leave the port to the operating system.
    package static func withPost<T>(to url: String?, _ body: (NotificationPost) async throws -> T) async throws -> T {
        let (origin, path, name) = try url.flatMap(address) ?? configuredAddress()
        let post = NotificationPost(origin: origin, path: path, name: name)
        do {
            let result = try await body(post)
            try await post.client.shutdown()
            return result
        } catch {
            try await post.client.shutdown()
            throw error
        }
    }

    private typealias Address = (origin: String, path: String, name: String)

    /// Whether the text is `http://HOST[:PORT]/PATH`.
    package static func isAddress(_ text: String) -> Bool { address(text) != nil }

    private static func address(_ text: String) -> Address? {
        guard let url = URL(string: text), url.scheme == "http", let host = url.host(), !host.isEmpty else { return nil }
        let authority = "\(host.contains(":") ? "[\(host)]" : host):\(url.port ?? 80)"
        let query = url.query().map { "?\($0)" } ?? ""
        return ("http://\(authority)", (url.path().isEmpty ? "/" : url.path()) + query, authority)
    }

    private static func configuredAddress() throws(SettingsError) -> Address {
        let reader = try SettingsReader(flags: [:], environment: ProcessInfo.processInfo.environment)
        let listen = try reader.required(Settings.listen)
        guard let origin = listen.origin else {
            throw SettingsError([
                "\(Settings.listen.description.name) is \(listen), which lets the operating system choose the port: name the URL"
            ])
        }
        return (origin, notifications, String(listen.isUnix ? "\(listen)".dropFirst(5) : origin.dropFirst(7)))
    }

    /// The path for a kind of body: V1 goes beside ingest's path for V2, all others to the URL's own; nil unless the scheme is http.
    static func path(of url: String, for kind: NotificationV1Body.Kind) -> String? {
        address(url).map { path($0.path, for: kind) }
    }

    private static func path(_ path: String, for kind: NotificationV1Body.Kind) -> String {
        guard kind == .notificationV1, path.hasSuffix(notifications) else { return path }
        return path.dropLast(notifications.count) + legacyNotifications
    }

    /// Posts the body and returns the answer, within 30 seconds.
    ///
    /// - Parameter authorization: the value of that header, if there is one.
    package func send(
        _ body: [UInt8],
        as kind: NotificationV1Body.Kind = .notificationV2,
        authorization: String? = nil
    ) async throws(NoAnswer) -> Answer {
        var request = HTTPClientRequest(url: origin + Self.path(path, for: kind))
        request.method = .POST
        request.headers = ["content-type": "application/json"]
        // The path of a socket is no host (RFC 9110, section 7.2).
        if origin.hasPrefix("http+unix:") { request.headers.add(name: "host", value: "localhost") }
        if let authorization { request.headers.add(name: "authorization", value: authorization) }
        request.body = .bytes(ByteBuffer(bytes: body))
        do {
            let response = try await client.execute(request, timeout: .seconds(30))
            for try await _ in response.body {}
            let seconds = response.headers.first(name: "retry-after").flatMap { UInt32($0) }
            return Answer(status: Int(response.status.code), retryAfter: seconds.map { .seconds(Int64($0)) })
        } catch {
            throw NoAnswer(description: "no answer from \(name): \(Self.words(error))")
        }
    }

    /// The operating system's message, where the cause is an error of its.
    private static func words(_ error: any Error) -> String {
        let cause = (error as? NIOConnectionError)?.connectionErrors.first?.error ?? error
        return (cause as? IOError).map { String(cString: strerror($0.errnoCode)) } ?? "\(cause)"
    }
}

package import AppStore
import FoundationEssentials
import HTTPRequesting
import HTTPServing
import NIOHTTP1

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

    private let address: HTTPAddress
    private let client: DirectClient

    private init(_ address: HTTPAddress) throws {
        self.address = address
        client = try DirectClient(tls: nil)
    }

    /// Calls `body` with the address of that URL, or else with the address at which ingest listens according to its settings.
    ///
    /// - Throws: ``SettingsError``, also where the settings leave the port to the operating system.
    package static func withPost<T>(to url: String?, _ body: (NotificationPost) async throws -> T) async throws -> T {
        let post = try NotificationPost(try url.flatMap(address) ?? configuredAddress())
        defer { post.client.close() }
        return try await body(post)
    }

    /// Whether the text is `http://HOST[:PORT]/PATH`.
    package static func isAddress(_ text: String) -> Bool { address(text) != nil }

    private static func address(_ text: String) -> HTTPAddress? {
        do throws(HTTPAddressError) {
            let address = try HTTPAddress(text)
            guard case .host(_, _, usesTLS: false) = address.place else { return nil }
            return address
        } catch {
            return nil
        }
    }

    private static func configuredAddress() throws(SettingsError) -> HTTPAddress {
        let reader = try SettingsReader(flags: [:], environment: ProcessInfo.processInfo.environment)
        let listen = try reader.required(Settings.listen)
        guard let address = HTTPAddress(listen, target: notifications) else {
            throw SettingsError([
                "\(Settings.listen.description.name) is \(listen), which lets the operating system choose the port: name the URL"
            ])
        }
        return address
    }

    /// The path for a kind of body: V1 goes beside ingest's path for V2, all others to the URL's own; nil unless the scheme is http.
    static func path(of url: String, for kind: NotificationV1Body.Kind) -> String? {
        address(url).map { path($0.target, for: kind) }
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
        let target = HTTPAddress(address.place, target: Self.path(address.target, for: kind))
        var request = HTTPRequest(.POST, target, headers: [("content-type", "application/json")], body: body, maximumBytes: 1 << 20)
        if let authorization { request.headers.append(("authorization", authorization)) }
        do throws(ExchangeError) {
            let answer = try await client.send(request, timeout: .seconds(30))
            let seconds = answer.headers.first(name: "retry-after").flatMap { UInt32($0) }
            return Answer(status: answer.status, retryAfter: seconds.map { .seconds(Int64($0)) })
        } catch {
            throw NoAnswer(description: "no answer from \(address): \(error)")
        }
    }
}

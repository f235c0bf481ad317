import AppStore
import AppStoreVerification
import HTTPServing
import NIOCore

/// Accepts Apple's notifications V1: checks the shared secret, removes it from the body, stores the rest, and answers after the commit.
/// Notifications V2 that arrive here, such as TEST, are accepted too.
///
/// No secret reaches the database or outlives the call.
struct LegacyNotificationEndpoint: Sendable {
    static let path = "/apple/v1/notifications"

    private let secrets: @Sendable () -> SharedSecrets
    private let store: NotificationStore
    private let maximumBytes: Int
    private let maximumSignedBytes: Int

    /// - Parameters:
    ///   - secrets: asked for at each notification.
    ///   - maximumBytes: the most bytes in a notification V1.
    ///   - maximumSignedBytes: the most bytes in a notification V2.
    init(secrets: @escaping @Sendable () -> SharedSecrets, store: NotificationStore, maximumBytes: Int, maximumSignedBytes: Int) {
        self.secrets = secrets
        self.store = store
        self.maximumBytes = maximumBytes
        self.maximumSignedBytes = maximumSignedBytes
    }

    /// Stores a notification and answers 200 with an empty body.
    @Sendable func callAsFunction(_ request: Request, _ answer: @escaping Endpoint.Answer) {
        let start = ContinuousClock.now
        let notification: NotificationV1Body
        let source: EventSource
        do throws(Problem) {
            try request.checkJSON()
            notification = try request.body.withUnsafeReadableBytes { bytes throws(Problem) in try Self.read(bytes) }
            source = try check(notification, bytes: request.body.readableBytes)
        } catch {
            return answer(.failure(error))
        }
        store.store(notification.bytes, source: source.rawValue, since: start, answer: answer)
    }

    private static func read(_ body: UnsafeRawBufferPointer) throws(Problem) -> NotificationV1Body {
        do throws(NotificationV1Body.Refusal) {
            return try NotificationV1Body(body)
        } catch {
            throw Problem(error)
        }
    }

    /// Checks a notification and returns its source.
    ///
    /// - Parameter bytes: the length as received. Replacing a secret that is not a string may make the body longer.
    private func check(_ notification: NotificationV1Body, bytes: Int) throws(Problem) -> EventSource {
        let bytes = max(bytes, notification.bytes.count)
        switch notification.kind {
        case .notificationV2:
            guard bytes <= maximumSignedBytes else { throw .contentTooLarge(limit: maximumSignedBytes) }
            try notification.bytes.withUnsafeBufferPointer { bytes throws(Problem) in
                try NotificationEndpoint.check(UnsafeRawBufferPointer(bytes))
            }
            return .notificationV2
        case .notificationV1:
            guard bytes <= maximumBytes else { throw .contentTooLarge(limit: maximumBytes) }
            switch secrets().authenticate(notification) {
            case .authentic: return .notificationV1
            case .wrong: throw .wrongSharedSecret
            case .notConfigured: throw .noSharedSecret
            }
        }
    }
}

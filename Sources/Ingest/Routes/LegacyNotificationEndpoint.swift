import AppStore
import AppStoreVerification
import HTTPServing
import NIOCore
import NIOHTTP1

/// Takes a notification V1 of Apple's: compares the secret in it with those of the app, stores its bytes without it, and answers after
/// the commit. Notifications V2 that come here, as TEST does, are taken as such.
///
/// Nothing of a secret is in what it hands on, and nothing of the bytes as they came outlives the call.
struct LegacyNotificationEndpoint: Sendable {
    static let path = "/apple/v1/notifications"
    /// The source of such events in the inbox. That one is there says that its secret was right: the worker cannot see it any more.
    static let source = "notification_v1"

    private let secrets: SharedSecrets
    private let store: NotificationStore
    private let maximumBytes: Int
    private let maximumSignedBytes: Int

    /// - Parameters:
    ///   - maximumBytes: of a notification V1.
    ///   - maximumSignedBytes: of a notification V2.
    init(secrets: SharedSecrets, store: NotificationStore, maximumBytes: Int, maximumSignedBytes: Int) {
        self.secrets = secrets
        self.store = store
        self.maximumBytes = maximumBytes
        self.maximumSignedBytes = maximumSignedBytes
    }

    /// Answers 200 with an empty body for a body that is stored.
    @Sendable func callAsFunction(_ fields: HTTPHeaders, _ body: ByteBuffer, _ answer: @escaping DirectEndpoint.Answer) {
        let start = ContinuousClock.now
        let notification: NotificationV1Body
        let source: String
        do throws(Problem) {
            try JSONRequestBody.check(fields)
            notification = try body.withUnsafeReadableBytes { bytes throws(Problem) in try Self.read(bytes) }
            source = try check(notification, bytes: body.readableBytes)
        } catch {
            return answer(error)
        }
        store.store(notification.bytes, source: source, since: start, answer: answer)
    }

    private static func read(_ body: UnsafeRawBufferPointer) throws(Problem) -> NotificationV1Body {
        do throws(NotificationV1Body.Refusal) {
            return try NotificationV1Body(body)
        } catch {
            throw Problem(error)
        }
    }

    /// The source to store it with.
    ///
    /// - Parameter bytes: how many came; a secret that is no string may leave more than that.
    private func check(_ notification: NotificationV1Body, bytes: Int) throws(Problem) -> String {
        let bytes = max(bytes, notification.bytes.count)
        switch notification.kind {
        case .notificationV2:
            guard bytes <= maximumSignedBytes else { throw .contentTooLarge(limit: maximumSignedBytes) }
            try notification.bytes.withUnsafeBufferPointer { bytes throws(Problem) in
                try NotificationEndpoint.check(UnsafeRawBufferPointer(bytes))
            }
            return NotificationEndpoint.source
        case .notificationV1:
            guard bytes <= maximumBytes else { throw .contentTooLarge(limit: maximumBytes) }
            switch secrets.judge(notification) {
            case .authentic: return Self.source
            case .wrong: throw .wrongSharedSecret
            case .notConfigured: throw .noSharedSecret
            }
        }
    }
}

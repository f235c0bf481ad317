import AppStore
import HTTPServing
import NIOCore

/// Accepts Apple's notifications V2: checks the form of the body, stores its bytes, and answers after the commit.
struct NotificationEndpoint: Sendable {
    static let path = "/apple/v2/notifications"

    private let store: NotificationStore

    init(store: NotificationStore) {
        self.store = store
    }

    /// Stores a notification and answers 200 with an empty body.
    @Sendable func callAsFunction(_ request: Request, _ answer: @escaping Endpoint.Answer) {
        let start = ContinuousClock.now
        do throws(Problem) {
            try request.checkJSON()
            try request.body.withUnsafeReadableBytes { bytes throws(Problem) in try Self.check(bytes) }
        } catch {
            return answer(.failure(error))
        }
        store.store(Array(buffer: request.body), source: EventSource.notificationV2.rawValue, since: start, answer: answer)
    }

    /// Throws when the bytes cannot be a notification V2.
    static func check(_ body: UnsafeRawBufferPointer) throws(Problem) {
        do throws(NotificationBody.Refusal) {
            try NotificationBody.check(body)
        } catch {
            throw Problem(error)
        }
    }
}

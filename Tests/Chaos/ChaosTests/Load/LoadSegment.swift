import AppStore
import Foundation
import LivesTesting
import Randomness
import StoreSimulator

/// A part of the load that shares nothing with the other parts: notifications about a few customers, many TEST notifications, and bodies
/// that the store did not sign. A seed and a number always give the same segment, except for signatures and instants.
struct LoadSegment {
    /// A body to post, and how often it must be accepted.
    struct Post {
        let body: [UInt8]
        let record: PostRecord
        let copies: Int
    }

    let number: Int
    private let history: History
    private var generator: SeededGenerator
    private var tests: SimulatedStore

    init(seed: UInt64, number: Int) throws {
        self.number = number
        history = try History(seed: seed, index: number)
        generator = SeededGenerator(seed: seed ^ UInt64(number) &* 0x9e37_79b9_7f4a_7c15)
        tests = SimulatedStore(app: HistoryGenerator.app, seed: generator.next(), now: HistoryGenerator.anyInstant)
    }

    /// A notification of a history, as it was signed last; nil where the history has an event of another kind.
    static func notification(at origin: PostRecord.Origin, of history: History) -> SimulatedNotification? {
        guard case .notification(let notification) = history.events[origin.event].content else { return nil }
        return origin.resignedAt.map { notification.resigned(at: $0) } ?? notification
    }

    /// A post before it is signed. It is signed just before it is sent, so that a wrong clock shows in it.
    enum Draft {
        /// An event of the history; a retry is signed again, with the same notificationUUID.
        case customer(event: Int, isResigned: Bool)
        /// A TEST notification.
        case test
        case forgedTest(Forgery)
        /// Three parts of base64url with random content.
        case junk
        /// Random bytes.
        case malformed
    }

    /// Everything in this segment, in posting order.
    mutating func drafts() -> [Draft] {
        var drafts: [Draft] = []
        for (index, event) in history.events.enumerated() {
            // Posts by customers' apps arrive through the API instead.
            guard case .notification = event.content else { continue }
            drafts.append(.customer(event: index, isResigned: false))
            if oneIn(10) { drafts.append(.customer(event: index, isResigned: true)) }
        }
        // About 70% TEST notifications: they are cheap to sign and to verify, so that a run can have many posts.
        for _ in 0..<(2 * drafts.count + 6) {
            drafts.append(.test)
            if oneIn(16) { drafts.append(.forgedTest(oneIn(2) ? .payloadAltered : .signatureDamaged)) }
            if oneIn(24) { drafts.append(.junk) }
            if oneIn(24) { drafts.append(.malformed) }
        }
        return drafts.shuffled(using: &generator)
    }

    /// Signs a draft.
    mutating func post(_ draft: Draft, signer: NotificationSigner, clock: StoreClock) throws -> Post? {
        switch draft {
        case .customer(let event, let isResigned):
            let origin = PostRecord.Origin(segment: number, event: event, resignedAt: isResigned ? clock.now : nil)
            guard let notification = Self.notification(at: origin, of: history) else { return nil }
            let kind = PostRecord.Kind.genuine(uuid: notification.notificationUUID.text)
            let record = PostRecord(kind, origin: origin, isAhead: origin.resignedAt.map(StoreClock.isAhead) ?? false)
            return Post(body: try signer.sign(notification).body, record: record, copies: oneIn(12) ? 2 : 1)
        case .test:
            tests.now = clock.now
            let test = tests.test()
            let record = PostRecord(.genuine(uuid: test.notificationUUID.text), isAhead: StoreClock.isAhead(tests.now))
            return Post(body: try signer.sign(test).body, record: record, copies: oneIn(16) ? 2 : 1)
        case .forgedTest(let forgery):
            let record = PostRecord(.forged, isAhead: StoreClock.isAhead(tests.now))
            return Post(body: try signer.forge(tests.test(), forgery).body, record: record, copies: 1)
        case .junk:
            let parts = (0..<3).map { _ in Base64URL.encode(generator.bytes(3 * Int.random(in: 10...400, using: &generator))) }
            let jws = parts.joined(separator: [UInt8(ascii: ".")])
            let body = Array(#"{"signedPayload":""#.utf8) + jws + Array(#""}"#.utf8)
            return Post(body: body, record: PostRecord(.forged), copies: 1)
        case .malformed:
            let body = generator.bytes(Int.random(in: 1...4000, using: &generator))
            return Post(body: body, record: PostRecord(.malformed), copies: 1)
        }
    }

    private mutating func oneIn(_ count: Int) -> Bool { Int.random(in: 0..<count, using: &generator) == 0 }
}

extension HistoryGenerator {
    /// Any instant: the clock is set before each TEST notification.
    static let anyInstant = Timestamp(millisecondsSince1970: 1_000_000_000_000)
}

extension UUID {
    /// As PostgreSQL writes it.
    var text: String { uuidString.lowercased() }
}

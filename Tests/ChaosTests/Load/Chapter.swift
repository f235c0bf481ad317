import AppStore
import Foundation
import LivesTesting
import Randomness
import StoreSimulator

/// A piece of the load that has nothing in common with the other pieces: what the store tells of a few customers, many tests of the
/// pipe, and what strangers send meanwhile. The same seed and number always give the same chapter, but for signatures and instants.
struct Chapter {
    /// A body to be posted, and how often it must be accepted.
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
        tests = SimulatedStore(app: HistoryAuthor.app, seed: generator.next(), now: HistoryAuthor.lateEnough)
    }

    /// A notification of a history, as it was signed in the end; nil where the history has another event.
    static func notification(at origin: PostRecord.Origin, of history: History) -> SimulatedNotification? {
        guard case .notification(let notification) = history.events[origin.event].content else { return nil }
        return origin.resignedAt.map { notification.resigned(at: $0) } ?? notification
    }

    /// Something to be posted, signed when its turn comes: a clock that is wrong meanwhile shows in it.
    enum Draft {
        /// An event of the history; a retry is signed anew, under the same notificationUUID.
        case life(event: Int, isResigned: Bool)
        /// A test of the pipe.
        case test
        case forgedTest(Forgery)
        /// What anyone can post: three parts of base64url that mean nothing.
        case junk
        /// Not even that.
        case misshapen
    }

    /// Everything of this chapter, in the order in which it is to be posted.
    mutating func drafts() -> [Draft] {
        var drafts: [Draft] = []
        for (index, event) in history.events.enumerated() {
            // What customers' apps send comes in by another door.
            guard case .notification = event.content else { continue }
            drafts.append(.life(event: index, isResigned: false))
            if oneIn(10) { drafts.append(.life(event: index, isResigned: true)) }
        }
        // Seven in ten: they are small, and signed and verified quickly, so that there can be many of everything.
        for _ in 0..<(2 * drafts.count + 6) {
            drafts.append(.test)
            if oneIn(16) { drafts.append(.forgedTest(oneIn(2) ? .payloadAltered : .signatureDamaged)) }
            if oneIn(24) { drafts.append(.junk) }
            if oneIn(24) { drafts.append(.misshapen) }
        }
        return drafts.shuffled(using: &generator)
    }

    /// Signs a draft.
    mutating func post(_ draft: Draft, signer: NotificationSigner, clock: StoreClock) throws -> Post? {
        switch draft {
        case .life(let event, let isResigned):
            let origin = PostRecord.Origin(chapter: number, event: event, resignedAt: isResigned ? clock.now : nil)
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
        case .misshapen:
            let body = generator.bytes(Int.random(in: 1...4000, using: &generator))
            return Post(body: body, record: PostRecord(.misshapen), copies: 1)
        }
    }

    private mutating func oneIn(_ count: Int) -> Bool { Int.random(in: 0..<count, using: &generator) == 0 }
}

extension HistoryAuthor {
    /// Any instant: a chapter's clock is asked before each test of the pipe.
    static let lateEnough = Timestamp(millisecondsSince1970: 1_000_000_000_000)
}

extension UUID {
    /// As PostgreSQL writes it.
    var text: String { uuidString.lowercased() }
}

import AppStore
import Randomness
import StoreSimulator

/// An endless sequence of a store's notifications to one app: whole lives of customers, of all types, interleaved as they would arrive.
///
/// Customers are simulated in groups, and a group's notifications are sorted by signed date. Thousands of others lie between two
/// notifications of one customer, so concurrent batches seldom share a customer, as in a large shop.
struct SimulatedTraffic {
    /// The app that all notifications are about.
    static let app = SimulatedApp(bundleID: "com.example.bench", appAppleID: 1_234_567_890)
    /// 1998-01-01: the longest life is over by now, since a verifier refuses signatures from the future.
    private static let beginning = Timestamp(millisecondsSince1970: 883_612_800_000)
    private static let groupSize = 4000

    private var generator: SeededGenerator
    private var production: SimulatedStore
    private var sandbox: SimulatedStore
    private var waiting: [SimulatedNotification] = []

    init(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        var testers = Self.app
        testers.environment = .sandbox
        production = SimulatedStore(app: Self.app, seed: generator.next(), now: Self.beginning)
        sandbox = SimulatedStore(app: testers, seed: generator.next(), now: Self.beginning)
        self.generator = generator
    }

    /// The next `count` notifications.
    mutating func next(_ count: Int) async throws -> [SimulatedNotification] {
        while waiting.count < count { waiting += try await group() }
        defer { waiting.removeFirst(count) }
        return Array(waiting.prefix(count))
    }

    /// The notifications about a group of customers, at most 24 each. One customer in twenty is a tester in the sandbox.
    private mutating func group() async throws -> [SimulatedNotification] {
        var lives: [(life: CustomerLife, count: Int)] = []
        for index in 0..<Self.groupSize {
            let birth = Self.beginning.advanced(by: .seconds(Int64.random(in: 0...86_400 * 365, using: &generator)))
            let life: CustomerLife
            if index % 20 == 0 {
                sandbox.now = birth
                life = sandbox.makeCustomer()
            } else {
                production.now = birth
                life = production.makeCustomer()
            }
            lives.append((life, Int.random(in: 1...24, using: &generator)))
        }
        let sent = try await Parallel.map(lives) { life in
            var customer = life.life
            return try customer.live(notifications: life.count)
        }
        let all = sent.joined() + (0..<10).flatMap { notices(onDay: Int64($0) * 36) }
        return all.sorted { $0.signedDate < $1.signedDate }
    }

    /// Notifications that are not about a customer.
    private mutating func notices(onDay day: Int64) -> [SimulatedNotification] {
        production.now = Self.beginning.advanced(by: .seconds(86_400 * day))
        return [
            production.test(), production.extensionSummary(), production.externalPurchaseToken(.created),
            production.externalPurchaseToken(.unreported),
        ]
    }
}

extension SimulatedNotification {
    /// The number of JWS in its body.
    var signatureCount: Int {
        switch content {
        case .data, .unclaimInfo, .summary, .externalPurchaseToken:
            1 + (state?.transaction == nil ? 0 : 1) + (state?.renewalInfo == nil ? 0 : 1)
        case .appData: 2
        }
    }

    /// `TYPE` or `TYPE/SUBTYPE`.
    var kindText: String { NotificationKind(type, subtype).description }
}

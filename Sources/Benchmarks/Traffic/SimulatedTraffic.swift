import AppStore
import OpenSSL
import Randomness
import StoreSimulator

/// What a store sends to one app, without end: whole lives of customers, interleaved as they would arrive, of all types of notification.
///
/// The customers come in groups; a group's notifications are in the order of their signed dates, so that those of one customer are some
/// thousand others apart, as in the traffic of a shop with many customers: batches that are in flight together seldom share one.
struct SimulatedTraffic {
    /// The app that all notifications are about.
    static let app = SimulatedApp(bundleID: "com.example.bench", appAppleID: 1_234_567_890)
    /// 1998-01-01: so long ago that the longest life is over by now, for nobody believes a signature of the future.
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

    /// The next notifications.
    mutating func next(_ count: Int) async throws -> [SimulatedNotification] {
        while waiting.count < count { waiting += try await group() }
        defer { waiting.removeFirst(count) }
        return Array(waiting.prefix(count))
    }

    /// All that is sent to a group of customers, each with up to two dozen notifications, one in twenty a tester in the sandbox.
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
        let told = try await Parallel.map(lives) { life in
            var customer = life.life
            return try customer.live(notifications: life.count)
        }
        let all = told.joined() + (0..<10).flatMap { notices(onDay: Int64($0) * 36) }
        return all.sorted { $0.signedDate < $1.signedDate }
    }

    /// What concerns no customer.
    private mutating func notices(onDay day: Int64) -> [SimulatedNotification] {
        production.now = Self.beginning.advanced(by: .seconds(86_400 * day))
        return [
            production.test(), production.extensionSummary(), production.externalPurchaseToken(.created),
            production.externalPurchaseToken(.unreported),
        ]
    }
}

extension SimulatedNotification {
    /// How many JWS its body holds.
    var signatureCount: Int {
        switch content {
        case .data(let state): 1 + (state.transaction == nil ? 0 : 1) + (state.renewalInfo == nil ? 0 : 1)
        case .appData: 2
        case .summary, .externalPurchaseToken: 1
        }
    }

    /// `TYPE` or `TYPE/SUBTYPE`.
    var kindText: String { NotificationKind(type, subtype).description }
}

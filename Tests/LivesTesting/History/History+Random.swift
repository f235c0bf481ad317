import FoundationEssentials
import Randomness
package import AppStore
package import StoreSimulator

extension History {
    /// A random history; the same seed and index always give the same one, and those of different indices share nothing but products.
    ///
    /// - Parameter receiptText: gives a receipt's text in base64; nil where nobody looks inside, and a name is enough.
    package init(seed: UInt64, index: Int, receiptText: ((AppReceipt) throws -> String)? = nil) throws {
        var author = HistoryAuthor(seed: seed, index: index, receiptText: receiptText)
        try author.write()
        self.init(seed: seed, index: index, events: author.events, commands: author.commands)
    }
}

/// Makes up what happens, and in whose name; works at the events in `+Events`
/// and `+Legacy`, and at the commands in `+Commands`.
package struct HistoryAuthor {
    package static let app = SimulatedApp(bundleID: "com.example.lives", appAppleID: 1_234_567_890)
    /// 1998-01-01: so long ago that the longest life is over by now, for nobody believes a signature of the future.
    static let beginning = Timestamp(millisecondsSince1970: 883_612_800_000)

    let index: Int
    var generator: SeededGenerator
    var events: [LifeEvent] = []
    var commands: [LifeCommand] = []
    private var customers: UInt64 = 0
    private let receiptText: ((AppReceipt) throws -> String)?
    private var receipts = 0

    init(seed: UInt64, index: Int, receiptText: ((AppReceipt) throws -> String)?) {
        self.index = index
        self.receiptText = receiptText
        generator = SeededGenerator(seed: seed &+ UInt64(index) &* 0xd1b5_4a32_d192_ed03)
    }

    /// People of the app: two who share an Apple ID, and a stranger.
    var users: [String] { ["anna-\(index)", "berta-\(index)", "carl-\(index)"] }

    mutating func write() throws {
        var main = customer(oneIn(6) ? .sandbox : .production)
        try tell(of: &main, upTo: 24)
        let tokens = main.tokensAtHand + seenTokens
        if oneIn(6) {
            var member = customer(main.app.environment, isFamily: true)
            member.tokensAtHand = tokens
            try tell(of: &member, upTo: 8)
        }
        if oneIn(4) {
            var tester = customer(.sandbox)
            tester.tokensAtHand = tokens
            // Apple need not keep the numbers of the two environments apart for ever.
            if main.app.environment == .production, oneIn(2) { number(&tester, from: 5, as: 0) }
            try tell(of: &tester, upTo: 6)
        }
        if oneIn(5) {
            var stranger = customer(main.app.environment)
            stranger.tokensAtHand = tokens
            try tell(of: &stranger, upTo: 6)
        }
        if oneIn(5) { addNotice() }
        writeCommands()
    }

    /// An Apple ID with numbers of its own, which soon have one digit more.
    private mutating func customer(_ environment: AppStoreEnvironment, isFamily: Bool = false) -> CustomerLife {
        var app = Self.app
        app.environment = environment
        let now = Self.beginning.advanced(by: .seconds(Int64.random(in: 0...86_400 * 365, using: &generator)))
        var store = SimulatedStore(app: app, seed: generator.next(), now: now)
        var life = store.makeCustomer()
        if isFamily { life = store.makeFamilyMember(of: life) }
        number(&life, from: oneIn(2) ? 5 : UInt64.random(in: 1...99, using: &generator), as: customers)
        customers += 1
        life.leastMillisecondsBetweenEvents = oneIn(3) ? 0 : 1
        return life
    }

    /// The last digits tell histories and the customers in them apart.
    private func number(_ life: inout CustomerLife, from first: UInt64, as customer: UInt64) {
        let step: UInt64 = 1_000_000
        life.numberCharges(from: step * first + UInt64(index) * 4 + customer, step: step)
    }

    /// Lets somebody live and writes down what the store tells of it, or most of that.
    private mutating func tell(of life: inout CustomerLife, upTo most: Int) throws {
        // Short lives are quicker and say more when they differ.
        let count = min(Int.random(in: 1...most, using: &generator), Int.random(in: 1...most, using: &generator))
        let shape: PayloadShape = oneIn(6) ? .year2021 : .current
        life.tokensAtHand += oneIn(3) ? [generator.uuid()] : []
        var shelf = oneIn(3) ? LegacyShelf(hasFractions: oneIn(2)) : nil
        for _ in 0..<count {
            let misfortune = shelf == nil ? nil : try misfortune(&life)
            guard var notification = try misfortune ?? life.live(notifications: 1).first else { continue }
            notification.shape = shape
            // What Apple may send tomorrow.
            if oneIn(50) { (notification.type, notification.subtype) = (NotificationTypeV2(rawValue: "TOMORROW"), nil) }
            if oneIn(40), var state = notification.state, state.status != nil {
                state.status = oneIn(2) ? nil : Status(rawValue: 9)
                notification.content = .data(state)
            }
            if shelf?.hasFractions == true { notification.addFraction() }
            if shelf == nil ? !oneIn(8) : oneIn(2) { add(notification) }
            if let state = notification.state, shelf == nil || oneIn(2) { addPosts(about: state, of: notification.app) }
            if let told = shelf { shelf = try addLegacyEvents(after: notification, in: life, told) }
        }
    }

    /// A receipt as the store makes it.
    mutating func sign(_ receipt: AppReceipt) throws -> LifeReceipt {
        receipts += 1
        return LifeReceipt(receipt: receipt, text: try receiptText?(receipt) ?? "receipt-\(index)-\(receipts)")
    }

    mutating func oneIn(_ count: Int) -> Bool { Int.random(in: 0..<count, using: &generator) == 0 }
}

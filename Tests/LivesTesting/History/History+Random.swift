import FoundationEssentials
import Ledger
import Randomness
package import AppStore
package import StoreSimulator

extension History {
    /// A random history; the same seed and index always give the same one, and those of different indices share nothing but products.
    ///
    /// - Parameter receiptText: gives a receipt's text in base64, by the hand that signs it; nil where nobody looks inside, and a name is
    ///   enough.
    package init(seed: UInt64, index: Int, receiptText: ((AppReceipt, ReceiptHand) throws -> String)? = nil) throws {
        var author = HistoryAuthor(seed: seed, index: index, receiptText: receiptText)
        try author.write()
        self.init(seed: seed, index: index, events: author.events, commands: author.commands)
    }
}

/// Makes up what happens, and in whose name; works at the events in `+Events`
/// and `+Legacy`, and at the commands in `+Commands`.
package struct HistoryAuthor {
    package static let app = SimulatedApp(bundleID: "com.example.lives", appAppleID: 1_234_567_890)
    /// One about whose receipts Apple is asked: its answer brings the charges.
    package static let askedApp = SimulatedApp(bundleID: "com.example.asked", appAppleID: 1_234_567_891)
    /// Another app of the same publisher.
    package static let neighbourBundleID = "com.example.neighbour"
    /// Somebody else's.
    static let foreignBundleID = "com.example.another"
    /// 1998-01-01: so long ago that the longest life is over by now, for nobody believes a signature of the future.
    static let beginning = Timestamp(millisecondsSince1970: 883_612_800_000)

    /// Nobody has more Apple IDs and subscription groups in one history.
    package static let customersAtMost: UInt64 = 64
    /// The numbers of one customer differ by multiples of it, so that there is room for a million histories.
    package static let numberStep: UInt64 = 100_000_000

    let index: Int
    var generator: SeededGenerator
    var events: [LifeEvent] = []
    var commands: [LifeCommand] = []
    private var customers: UInt64 = 0
    private let receiptText: ((AppReceipt, ReceiptHand) throws -> String)?
    private var receipts = 0

    init(seed: UInt64, index: Int, receiptText: ((AppReceipt, ReceiptHand) throws -> String)?) {
        self.index = index
        self.receiptText = receiptText
        generator = SeededGenerator(seed: seed &+ UInt64(index) &* 0xd1b5_4a32_d192_ed03)
    }

    /// The app that the history is about.
    var app: SimulatedApp { index % 3 == 2 ? Self.askedApp : Self.app }

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
    ///
    /// - Parameter catalogue: what the store sells; the usual when nil.
    private mutating func customer(
        _ environment: AppStoreEnvironment,
        isFamily: Bool = false,
        _ catalogue: SimulatedCatalogue? = nil
    ) -> CustomerLife {
        var app = app
        app.environment = environment
        let now = Self.beginning.advanced(by: .seconds(Int64.random(in: 0...86_400 * 365, using: &generator)))
        var store = SimulatedStore(app: app, catalogue: catalogue, seed: generator.next(), now: now)
        var life = store.makeCustomer()
        if isFamily { life = store.makeFamilyMember(of: life) }
        number(&life, from: oneIn(2) ? 5 : UInt64.random(in: 1...99, using: &generator), as: customers)
        customers += 1
        life.leastMillisecondsBetweenEvents = oneIn(3) ? 0 : 1
        return life
    }

    /// The last digits tell histories and the customers in them apart.
    private func number(_ life: inout CustomerLife, from first: UInt64, as customer: UInt64) {
        let own = UInt64(index) * Self.customersAtMost + customer
        precondition(customer < Self.customersAtMost && own < Self.numberStep, "history \(index) would share numbers with another one")
        life.numberCharges(from: Self.numberStep * first + own, step: Self.numberStep)
    }

    /// Lets somebody live and writes down what the store tells of it, or most of that.
    private mutating func tell(of life: inout CustomerLife, upTo most: Int) throws {
        // Short lives are quicker and say more when they differ.
        let count = min(Int.random(in: 1...most, using: &generator), Int.random(in: 1...most, using: &generator))
        let shape: PayloadShape = oneIn(6) ? .year2021 : .current
        life.tokensAtHand += oneIn(3) ? [generator.uuid()] : []
        var shelf = oneIn(3) ? LegacyShelf(hasFractions: oneIn(2)) : nil
        var lives = [life] + (shelf == nil ? [] : otherGroups(of: life))
        for _ in 0..<count {
            let turn = turn(of: lives)
            let misfortune = shelf == nil ? nil : try misfortune(&lives[turn])
            guard var notification = try misfortune ?? lives[turn].live(notifications: 1).first else { continue }
            if oneIn(12), let transaction = notification.transaction {
                lives[turn].tokensAtHand.append(transaction.periodNumber(in: notification.app.environment))
            }
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
            if let told = shelf {
                let others = lives.indices.filter { $0 != turn }.map { lives[$0] }
                shelf = try addLegacyEvents(after: notification, in: lives[turn], beside: others, told)
            }
        }
        life = lives[0]
    }

    /// What the same Apple ID subscribes to in other subscription groups: contracts of their own, told of in the same receipts and bodies.
    private mutating func otherGroups(of life: CustomerLife) -> [CustomerLife] {
        let count = oneIn(2) ? oneIn(3) ? 2 : 1 : 0
        return (0..<count).map { group in
            let catalogue = SimulatedCatalogue.ofGroup(group, bundleID: life.app.bundleID)
            var other = customer(life.app.environment, isFamily: life.ownership == .familyShared, catalogue)
            other.tokensAtHand = life.tokensAtHand
            other.advance(to: life.now)
            return other
        }
    }

    /// Whose turn it is to live: of several at once most often the one that is behind.
    private mutating func turn(of lives: [CustomerLife]) -> Int {
        guard lives.count > 1 else { return 0 }
        if oneIn(3) { return Int.random(in: lives.indices, using: &generator) }
        return lives.indices.min { lives[$0].now < lives[$1].now } ?? 0
    }

    /// A receipt as the store makes it, or somebody who is not the store.
    mutating func sign(_ receipt: AppReceipt, as state: LifeReceipt.State = .genuine) throws -> LifeReceipt {
        receipts += 1
        let hand: ReceiptHand = state == .forged ? .stranger : .store
        let text = try receiptText?(receipt, hand) ?? "receipt-\(index)-\(receipts)"
        return LifeReceipt(receipt: receipt, text: text, state: state)
    }

    mutating func oneIn(_ count: Int) -> Bool { Int.random(in: 0..<count, using: &generator) == 0 }
}

extension SimulatedCatalogue {
    /// Two plans of another subscription group than that of the sample, and nothing else.
    fileprivate static func ofGroup(_ number: Int, bundleID: String) -> SimulatedCatalogue {
        let (name, group) = ("\(bundleID).group\(number)", "2175281\(5 + number)")
        return SimulatedCatalogue(
            plans: [
                .subscription("\(name).monthly", every: .months(1), price: 1990, group: group, level: 2),
                .subscription("\(name).weekly", every: .weeks(1), price: 790, group: group, level: 1),
            ],
            oneTimeProducts: []
        )
    }
}

extension SimulatedTransaction {
    /// The number of the order of the paid period, which a client might use as a token.
    fileprivate func periodNumber(in environment: AppStoreEnvironment) -> UUID {
        guard let webOrderLineItemID else { return OrderNumber.ofCharge(environment: environment, transactionID: transactionID) }
        return OrderNumber.ofPeriod(
            environment: environment,
            originalTransactionID: originalTransactionID,
            webOrderLineItemID: webOrderLineItemID
        )
    }
}

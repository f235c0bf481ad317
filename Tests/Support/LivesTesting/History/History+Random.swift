package import AppStore
import FoundationEssentials
import Ledger
import Randomness
package import StoreSimulator

extension History {
    /// Generates a random history. A seed and an index always give the same one; histories of different indices share only products.
    ///
    /// - Parameter receiptText: returns a receipt's text in base64, signed by the issuer; nil when the receipts are not read and a name
    ///   suffices.
    package init(seed: UInt64, index: Int, receiptText: ((AppReceipt, ReceiptIssuer) throws -> String)? = nil) throws {
        var generator = HistoryGenerator(seed: seed, index: index, receiptText: receiptText)
        try generator.generate()
        self.init(seed: seed, index: index, events: generator.events, commands: generator.commands)
    }
}

/// Generates the events and commands of a history; see also `+Events`, `+Legacy` and `+Commands`.
package struct HistoryGenerator {
    package static let app = SimulatedApp(bundleID: "com.example.lives", appAppleID: 1_234_567_890)
    /// An app whose receipts are sent to Apple: the answer brings the charges.
    package static let verifyReceiptApp = SimulatedApp(bundleID: "com.example.asked", appAppleID: 1_234_567_891)
    /// Another app of the same publisher.
    package static let neighbourBundleID = "com.example.neighbour"
    /// An app of another publisher.
    static let foreignBundleID = "com.example.another"
    /// 1998-01-01: early enough for the longest history to end in the past, since signatures of the future are not accepted.
    static let beginning = Timestamp(millisecondsSince1970: 883_612_800_000)

    /// The largest number of Apple IDs and subscription groups in one history.
    package static let customersAtMost: UInt64 = 64
    /// The transactionIds of one customer differ by multiples of this step, which leaves room for a million histories.
    package static let numberStep: UInt64 = 100_000_000

    let index: Int
    var generator: SeededGenerator
    /// For notices and registers: what ``generator`` draws does not depend on them.
    private var noticeGenerator: SeededGenerator
    var events: [LifeEvent] = []
    var commands: [LifeCommand] = []
    private var customers: UInt64 = 0
    private let receiptText: ((AppReceipt, ReceiptIssuer) throws -> String)?
    private var receipts = 0

    init(seed: UInt64, index: Int, receiptText: ((AppReceipt, ReceiptIssuer) throws -> String)?) {
        self.index = index
        self.receiptText = receiptText
        let ownSeed = seed &+ UInt64(index) &* 0xd1b5_4a32_d192_ed03
        generator = SeededGenerator(seed: ownSeed)
        noticeGenerator = SeededGenerator(seed: ownSeed ^ 0x7e11_7e11_7e11_7e11)
    }

    /// The app that the history is about.
    var app: SimulatedApp { index % 3 == 2 ? Self.verifyReceiptApp : Self.app }

    /// Users of the app: two who share an Apple ID, and another one.
    var users: [String] { ["anna-\(index)", "berta-\(index)", "carl-\(index)"] }

    mutating func generate() throws {
        var main = customer(oneIn(6) ? .sandbox : .production)
        try addEvents(of: &main, upTo: 24)
        let tokens = main.reusableTokens + seenTokens
        if oneIn(6) {
            var member = customer(main.app.environment, isFamily: true)
            member.reusableTokens = tokens
            try addEvents(of: &member, upTo: 8)
        }
        if oneIn(4) {
            var tester = customer(.sandbox)
            tester.reusableTokens = tokens
            // Apple may use the same transactionIds in both environments.
            if main.app.environment == .production, oneIn(2) { number(&tester, from: 5, as: 0) }
            try addEvents(of: &tester, upTo: 6)
        }
        if oneIn(5) {
            var other = customer(main.app.environment)
            other.reusableTokens = tokens
            try addEvents(of: &other, upTo: 6)
        }
        if oneIn(5) { addAppNotification() }
        addRarities()
        addCommands()
        swap(&generator, &noticeGenerator)
        addNotices()
        addRegisters()
        swap(&generator, &noticeGenerator)
    }

    /// An Apple ID with its own transactionIds, whose number of digits soon increases.
    ///
    /// - Parameter catalogue: the products of the store; the default ones when nil.
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
        if index % 4 == 1 { life.additionalSteps = LifeStep.groups + LifeStep.commitments + LifeStep.unknownValues }
        return life
    }

    /// Numbers the customer's charges: the last digits identify history and customer.
    private func number(_ life: inout CustomerLife, from first: UInt64, as customer: UInt64) {
        let own = UInt64(index) * Self.customersAtMost + customer
        precondition(customer < Self.customersAtMost && own < Self.numberStep, "history \(index) would share numbers with another one")
        life.numberCharges(from: Self.numberStep * first + own, step: Self.numberStep)
    }

    /// Simulates a customer and adds most of the store's notifications and the app's posts.
    private mutating func addEvents(of life: inout CustomerLife, upTo most: Int) throws {
        // Short histories are faster, and a difference in one is easier to understand.
        let count = min(Int.random(in: 1...most, using: &generator), Int.random(in: 1...most, using: &generator))
        let shape: PayloadShape = oneIn(6) ? .year2021 : .current
        life.reusableTokens += oneIn(3) ? [generator.uuid()] : []
        var context = oneIn(3) ? LegacyContext(hasFractions: oneIn(2)) : nil
        var lives = [life] + (context == nil ? [] : otherGroups(of: life))
        for _ in 0..<count {
            let turn = turn(of: lives)
            let billingFailure = context == nil ? nil : try billingFailure(&lives[turn])
            guard var notification = try billingFailure ?? lives[turn].live(notifications: 1).first else { continue }
            if oneIn(12), let transaction = notification.transaction {
                lives[turn].reusableTokens.append(transaction.periodNumber(in: notification.app.environment))
            }
            notification.shape = shape
            // An unknown type, as a future version of the API may send.
            if oneIn(50) { (notification.type, notification.subtype) = (NotificationTypeV2(rawValue: "NEW_TYPE"), nil) }
            if oneIn(40), var state = notification.state, state.status != nil {
                state.status = oneIn(2) ? nil : Status(rawValue: 9)
                notification.content = .data(state)
            }
            if context?.hasFractions == true { notification.addFraction() }
            if context == nil ? !oneIn(8) : oneIn(2) { add(notification) }
            if let state = notification.state, context == nil || oneIn(2) { addPosts(about: state, of: notification.app) }
            if let state = notification.state, oneIn(4) { addAnswer(about: state, of: notification.app) }
            if let previous = context {
                let others = lives.indices.filter { $0 != turn }.map { lives[$0] }
                context = try addLegacyEvents(after: notification, in: lives[turn], beside: others, previous)
            }
        }
        life = lives[0]
    }

    /// Subscriptions of the same Apple ID in other groups: separate contracts in the same receipts and bodies.
    private mutating func otherGroups(of life: CustomerLife) -> [CustomerLife] {
        let count = oneIn(2) ? oneIn(3) ? 2 : 1 : 0
        return (0..<count).map { group in
            let catalogue = SimulatedCatalogue.ofGroup(group, bundleID: life.app.bundleID)
            var other = customer(life.app.environment, isFamily: life.ownership == .familyShared, catalogue)
            other.reusableTokens = life.reusableTokens
            other.advance(to: life.now)
            return other
        }
    }

    /// Selects the subscription that continues: usually the one whose clock is behind.
    private mutating func turn(of lives: [CustomerLife]) -> Int {
        guard lives.count > 1 else { return 0 }
        if oneIn(3) { return Int.random(in: lives.indices, using: &generator) }
        return lives.indices.min { lives[$0].now < lives[$1].now } ?? 0
    }

    /// A receipt signed by the store or, for a forged one, by another authority.
    mutating func sign(_ receipt: AppReceipt, as state: LifeReceipt.State = .genuine) throws -> LifeReceipt {
        receipts += 1
        let issuer: ReceiptIssuer = state == .forged ? .untrusted : .store
        let text = try receiptText?(receipt, issuer) ?? "receipt-\(index)-\(receipts)"
        return LifeReceipt(receipt: receipt, text: text, state: state)
    }

    mutating func oneIn(_ count: Int) -> Bool { Int.random(in: 0..<count, using: &generator) == 0 }
}

extension SimulatedCatalogue {
    /// Two plans of a subscription group other than the sample's.
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
    /// The order number of the paid period, which a client might use as a token.
    fileprivate func periodNumber(in environment: AppStoreEnvironment) -> UUID {
        guard let webOrderLineItemID else { return OrderNumber.ofCharge(environment: environment, transactionID: transactionID) }
        return OrderNumber.ofPeriod(
            environment: environment,
            originalTransactionID: originalTransactionID,
            webOrderLineItemID: webOrderLineItemID
        )
    }
}

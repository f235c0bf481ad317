import AppStore
import Foundation
import StoreSimulator

/// A make-believe app whose customers the tests play, and the authority that signs for it.
struct Shop: Sendable {
    let seed: UInt64
    let authority: TestAuthority
    let signer: NotificationSigner
    private(set) var store: SimulatedStore

    var app: SimulatedApp { store.app }

    /// - Parameter seed: another one gives other customers.
    init(
        bundleID: String = "com.example.tides",
        environment: AppStoreEnvironment = .production,
        seed: UInt64 = 1,
        authority: TestAuthority? = nil
    ) throws {
        let now = Timestamp(millisecondsSince1970: Int64(Date().timeIntervalSince1970 * 1000))
        self.seed = seed
        self.authority = try authority ?? Self.sharedAuthority.get()
        signer = NotificationSigner(authority: self.authority)
        // Lives of half a year end in the past: what is signed in the future waits.
        let beginning = now.advanced(by: .seconds(-200 * 86_400))
        store = SimulatedStore(app: SimulatedApp(bundleID: bundleID, environment: environment), seed: seed, now: beginning)
    }

    /// An authority that no test but the one that makes it has.
    static func strangeAuthority() throws -> TestAuthority {
        try TestAuthority.generate(.longLived(around: Timestamp(millisecondsSince1970: Int64(Date().timeIntervalSince1970 * 1000))))
    }

    private static let sharedAuthority = Result { try strangeAuthority() }

    /// A new Apple ID.
    mutating func makeCustomer() -> CustomerLife { store.makeCustomer() }

    /// The product that customers buy unless told otherwise.
    var plan: SimulatedProduct { store.catalogue.plans[0] }

    /// The body of the POST.
    func body(_ notification: SimulatedNotification) throws -> [UInt8] {
        try signer.sign(notification).body
    }

    /// The bodies of the POSTs, in order.
    func bodies(_ notifications: [SimulatedNotification]) throws -> [[UInt8]] {
        try notifications.map(body)
    }

    /// A purchase, one renewal, the customer's wish that it be the last, and a refund of that renewal.
    mutating func shortLife(token: UUID? = nil) throws -> [SimulatedNotification] {
        var life = makeCustomer()
        return [
            try life.subscribe(appAccountToken: token), try life.renew(), try life.turnAutoRenewOff(), try life.refund(),
        ]
    }

    /// First purchases of that many customers.
    mutating func purchases(_ count: Int) throws -> [SimulatedNotification] {
        try (0..<count).map { _ in
            var life = makeCustomer()
            return try life.subscribe()
        }
    }
}

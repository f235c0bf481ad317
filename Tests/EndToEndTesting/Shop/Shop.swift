package import AppStore
package import Foundation
package import StoreSimulator

/// A make-believe app whose customers the tests play, and the authority that signs for it.
package struct Shop: Sendable {
    package let seed: UInt64
    package let authority: TestAuthority
    package let signer: NotificationSigner
    package private(set) var store: SimulatedStore

    package var app: SimulatedApp { store.app }

    /// - Parameter seed: another one gives other customers.
    package init(
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
    package static func strangeAuthority() throws -> TestAuthority {
        try TestAuthority.generate(.longLived(around: Timestamp(millisecondsSince1970: Int64(Date().timeIntervalSince1970 * 1000))))
    }

    private static let sharedAuthority = Result { try strangeAuthority() }

    /// A new Apple ID.
    package mutating func makeCustomer() -> CustomerLife { store.makeCustomer() }

    /// The product that customers buy unless told otherwise.
    package var plan: SimulatedProduct { store.catalogue.plans[0] }

    /// The body of the POST.
    package func body(_ notification: SimulatedNotification) throws -> [UInt8] {
        try signer.sign(notification).body
    }

    /// The bodies of the POSTs, in order.
    package func bodies(_ notifications: [SimulatedNotification]) throws -> [[UInt8]] {
        try notifications.map(body)
    }

    /// A purchase, one renewal, the customer's wish that it be the last, and a refund of that renewal.
    package mutating func shortLife(token: UUID? = nil) throws -> [SimulatedNotification] {
        var life = makeCustomer()
        return [
            try life.subscribe(appAccountToken: token), try life.renew(), try life.turnAutoRenewOff(), try life.refund(),
        ]
    }

    /// First purchases of that many customers.
    package mutating func purchases(_ count: Int) throws -> [SimulatedNotification] {
        try (0..<count).map { _ in
            var life = makeCustomer()
            return try life.subscribe()
        }
    }
}

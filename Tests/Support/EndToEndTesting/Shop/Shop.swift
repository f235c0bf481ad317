package import AppStore
package import Foundation
package import StoreSimulator

/// A simulated app with its customers, and the authority that signs for it.
package struct Shop: Sendable {
    package let seed: UInt64
    package let authority: TestAuthority
    package let signer: NotificationSigner
    package private(set) var store: SimulatedStore

    package var app: SimulatedApp { store.app }

    /// - Parameter seed: selects the customers.
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
        // Histories of half a year end in the past: events signed in the future would wait.
        let beginning = now.advanced(by: .seconds(-200 * 86_400))
        store = SimulatedStore(app: SimulatedApp(bundleID: bundleID, environment: environment), seed: seed, now: beginning)
    }

    /// A new authority that no worker trusts by default.
    package static func untrustedAuthority() throws -> TestAuthority {
        try TestAuthority.generate(.longLived(around: Timestamp(millisecondsSince1970: Int64(Date().timeIntervalSince1970 * 1000))))
    }

    private static let sharedAuthority = Result { try untrustedAuthority() }

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

    /// A purchase, a renewal, auto-renewal turned off, and a refund of the renewal.
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

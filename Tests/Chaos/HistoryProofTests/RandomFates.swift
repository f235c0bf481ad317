import AppStore
import EndToEndTesting
import Randomness
import StoreSimulator

/// What a simulated store has sent during the last month, each notification with a random fate.
struct RandomFates: Sendable {
    /// The bodies that reached the inbox by now.
    private(set) var delivered: [[UInt8]] = []
    /// The bodies of all that history lists.
    private(set) var listed: [[UInt8]] = []
    private(set) var unlisted = 0
    /// Signed days ago, and listed by a second reading only.
    private(set) var late: [SignedNotification] = []

    /// Lets customers live until at least so many notifications were sent, and keeps a few of these for later.
    init(_ count: Int, in api: inout SimulatedServerAPI, of shop: Shop, using generator: inout SeededGenerator) throws {
        let now = AppleScene.now()
        // The near walk ends up to twenty minutes ago.
        let end = now.advanced(by: .seconds(-45 * 60))
        var store = SimulatedStore(app: shop.app, seed: shop.seed, now: now.advanced(by: .seconds(-29 * 86_400)))
        var sent: [SignedNotification] = []
        while sent.count < count { sent += try api.populate(1, in: &store, until: end, using: &generator) }
        let listedIDs = Set(api.listed(at: AppleScene.place, on: now))
        for signed in sent {
            let uuid = signed.notification.notificationUUID
            guard listedIDs.contains(uuid) else {
                unlisted += 1
                continue
            }
            listed.append(signed.body)
            let isDelivered = api.attempts(of: uuid, at: AppleScene.place, until: now).contains {
                $0.result == .success && $0.destination == .inbox
            }
            if isDelivered { delivered.append(signed.body) }
        }
        // On the days whose second walk the test lets begin.
        store.now = now.advanced(by: .seconds(-11 * 86_400))
        for _ in 0..<max(5, count / 50) {
            var life = store.makeCustomer()
            life.advance(by: .seconds(Int64.random(in: 0...86_400, using: &generator)))
            late.append(try shop.signer.sign(try life.subscribe()))
        }
        listed += late.map(\.body)
    }
}

package import AppStore
package import Randomness

extension SimulatedServerAPI {
    /// Lets new customers of a store buy and change their minds until an instant, and records the notifications about them with random
    /// fates. Returns these notifications.
    package mutating func populate(
        _ customers: Int,
        in store: inout SimulatedStore,
        until now: Timestamp,
        using generator: inout SeededGenerator
    ) throws -> [SignedNotification] {
        var sent: [SignedNotification] = []
        for _ in 0..<customers {
            var life = store.makeCustomer()
            while true {
                let before = life
                for notification in try life.live(notifications: 1) where life.now <= now {
                    sent.append(try signer.sign(notification))
                    push(sent[sent.count - 1], fate: .random(using: &generator))
                }
                guard life.now <= now else {
                    hold(before, at: now)
                    break
                }
            }
        }
        return sent
    }
}

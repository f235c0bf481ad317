import AppStore
import StoreSimulator

/// A charge that a user claimed by posting it, and the time of receipt.
struct Post {
    let charge: Key
    let contract: Key
    let user: String
    let receivedAt: Int64
    let eventID: Int64

    init(of post: ClientPost, by user: String, in event: LifeEvent) {
        charge = Key(post.app.environment.rawValue, post.transaction.transactionID)
        contract = Key(post.app.environment.rawValue, post.transaction.originalTransactionID)
        self.user = user
        receivedAt = event.receivedAt.millisecondsSince1970
        eventID = event.id
    }

    static func isEarlier(_ left: Post, _ right: Post) -> Bool { (left.receivedAt, left.eventID) < (right.receivedAt, right.eventID) }

    /// The first post of each; later ones have no effect.
    static func first(of posts: [Post]) -> [Post] {
        var seen: Set<[String]> = []
        return posts.sorted(by: isEarlier).filter { seen.insert([$0.charge.environment, $0.charge.id, $0.user]).inserted }
    }
}

/// A contract in a receipt that a user posted, and the time of receipt.
struct PostedContract {
    let contract: Key
    let user: String
    /// The contract's purchase just made, according to the app; empty when it names none of this contract.
    let named: String
    let receivedAt: Int64
    let eventID: Int64

    /// One element for each contract in the receipt.
    static func all(of post: ReceiptPost, in event: LifeEvent) -> [PostedContract] {
        let entries = post.receipt.entries
        let named = entries.first { $0.id == post.transactionID }
        return Set(entries.map(\.contract)).map { contract in
            PostedContract(
                contract: Key(post.app.environment.rawValue, contract),
                user: post.user,
                named: named?.contract == contract ? named?.id ?? "" : "",
                receivedAt: event.receivedAt.millisecondsSince1970,
                eventID: event.id
            )
        }
    }

    static func isEarlier(_ left: PostedContract, _ right: PostedContract) -> Bool {
        (left.receivedAt, left.eventID) < (right.receivedAt, right.eventID)
    }

    /// The first post of each; later ones have no effect.
    static func first(of posts: [PostedContract]) -> [PostedContract] {
        var seen: Set<[String]> = []
        return posts.sorted(by: isEarlier).filter { seen.insert([$0.contract.environment, $0.contract.id, $0.user, $0.named]).inserted }
    }
}

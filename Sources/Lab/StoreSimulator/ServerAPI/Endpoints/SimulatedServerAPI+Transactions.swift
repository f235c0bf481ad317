import AppStore
import StrictJSON

/// Transaction Info, App Transaction Info and Look Up Order ID.
extension SimulatedServerAPI {
    func transactionInfo(_ task: ServerAPITask) throws -> JSONObject {
        let id = try Self.transactionID(task.arguments[0])
        guard places[task.place]?.customers[id] == nil else { throw ServerAPIError.appTransactionID }
        let (transaction, life) = try transaction(id, task)
        return ["signedTransactionInfo": try sign(transaction, of: life.app, task)]
    }

    func appTransactionInfo(_ task: ServerAPITask) throws -> JSONObject {
        let (customer, version) = try customer(of: Self.transactionID(task.arguments[0]), task)
        guard customer.hasAppTransaction else { throw ServerAPIError.noAppTransaction }
        var life = version.life
        var appTransaction = life.appTransaction()
        appTransaction.receiptCreationDate = task.now
        let jws = try signer.sign(appTransaction.payload(of: life.app))
        return ["signedAppTransactionInfo": .string(String(decoding: jws, as: UTF8.self))]
    }

    /// Sandbox has no order numbers.
    func lookUpOrder(_ task: ServerAPITask) throws -> SimulatedReply {
        guard task.place.environment == .production else { return SimulatedReply(status: 404) }
        let found = Self.transactionID(ofOrder: task.arguments[0]).flatMap { places[task.place]?.owners[$0] }
        let life = found.flatMap { places[task.place]?.customers[$0] }.flatMap { version(of: $0, task)?.life }
        let charges = (life?.allCharges ?? []).filter { Self.orderID(of: $0) == task.arguments[0] }
        guard let life, !charges.isEmpty else { return SimulatedReply(["status": 1, "signedTransactions": []] as JSONObject) }
        let jws = try charges.map { try sign($0, of: life.app, task) }
        return SimulatedReply(["status": 0, "signedTransactions": .array(jws)] as JSONObject)
    }

    /// The order number on the customer's receipt.
    package static func orderID(of transaction: SimulatedTransaction) -> String {
        "M" + String(UInt64(transaction.transactionID) ?? 0, radix: 36, uppercase: true)
    }

    private static func transactionID(ofOrder order: String) -> String? {
        order.hasPrefix("M") ? UInt64(order.dropFirst(), radix: 36).map { String($0) } : nil
    }

    /// An identifier of a path; Apple's are decimal.
    static func transactionID(
        _ text: String,
        otherwise error: ServerAPIError = .transactionID
    ) throws(ServerAPIError) -> String {
        guard (1...20).contains(text.utf8.count), text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else {
            throw error
        }
        return text
    }

    /// The customer of any of its identifiers, with the state that answers are made from.
    func customer(
        of id: String,
        _ task: ServerAPITask,
        otherwise error: ServerAPIError = .transactionNotFound
    ) throws(ServerAPIError) -> (HeldCustomer, HeldCustomer.Version) {
        guard let books = places[task.place], let owner = books.owners[id], let customer = books.customers[owner],
            let version = version(of: customer, task), id == owner || version.changes[id] != nil
        else { throw error }
        return (customer, version)
    }

    /// A transaction in the state that answers are made from.
    func transaction(_ id: String, _ task: ServerAPITask) throws(ServerAPIError) -> (SimulatedTransaction, CustomerLife) {
        let life = try customer(of: id, task).1.life
        guard let transaction = life.transaction(id) else { throw .transactionNotFound }
        return (transaction, life)
    }

    private func version(of customer: HeldCustomer, _ task: ServerAPITask) -> HeldCustomer.Version? {
        options.replicaLag == .zero ? customer.newest : customer.version(until: task.now.advanced(by: .zero - options.replicaLag))
    }

    /// The JWS of a transaction, signed now.
    func sign(_ transaction: SimulatedTransaction, of app: SimulatedApp, _ task: ServerAPITask) throws(SimulationError) -> JSONValue {
        .string(String(decoding: try signer.sign(transaction, of: app, signedDate: task.now), as: UTF8.self))
    }
}

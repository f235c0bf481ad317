import AppStore

/// For which environment and apps somebody posted a transaction or a receipt: the members that both kinds of bodies have.
struct PostedScope: Hashable, Sendable {
    let environment: AppStoreEnvironment
    /// The apps of the key that it was posted with; nil for any.
    let bundleIDs: [String]?

    private enum Member: String {
        case environment, bundleIds
    }

    /// Nil for a body that another version has written in another way: then nobody's key covers it.
    init?(body: [UInt8]) {
        do {
            let members = MemberReader<Member>(try JSONParser().parseObject(body))
            guard let environment = try members.string(.environment) else { return nil }
            self.environment = AppStoreEnvironment(rawValue: environment)
            bundleIDs = try members.strings(.bundleIds)
        } catch {
            return nil
        }
    }
}

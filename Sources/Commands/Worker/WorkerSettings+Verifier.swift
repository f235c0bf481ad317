import AppStoreVerification

extension WorkerSettings {
    /// The verifier that these settings ask for: what it trusts, and which apps and environments count.
    ///
    /// - Throws: ``SettingsError`` when the file of a root cannot be used.
    func verifier() throws(SettingsError) -> Verifier {
        var roots = [TrustedRoot.appleRootCAG3]
        for root in extraRoots {
            do throws(RootFile.Unusable) {
                roots += try root.trusted()
            } catch {
                throw SettingsError(["\(Settings.extraRoots.description.name): \(error)"])
            }
        }
        return Verifier(policy: VerificationPolicy(apps: apps, environments: environments, roots: roots))
    }
}

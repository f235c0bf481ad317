import AppStore

/// Commitments of twelve months, and values that Apple does not document.
extension TriggerScenario {
    static let commitments: [String: TriggerScenario] = [
        "SUBSCRIBED/INITIAL_BUY:commitment": TriggerScenario(.first, about: "the first month of a commitment") {
            state throws(SimulationError) in
            try state.life.subscribe(to: state.plan, appAccountToken: state.token, terms: state.commitment)
        },
        "DID_RENEW:commitment": TriggerScenario(.later, about: "the second month of a commitment") { state throws(SimulationError) in
            try state.commit(months: 1, and: .zero - ScenarioState.end)
            state.advanceToNow()
            return try state.life.renew()
        },
        "DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_DISABLED:commitment": TriggerScenario(
            .later,
            about: "a commitment that is cancelled in its third month"
        ) { state throws(SimulationError) in
            try state.commit(months: 2, and: .seconds(10 * 86_400))
            try state.renew(2)
            state.advanceToNow()
            return try state.life.turnAutoRenewOff()
        },
        "DID_RENEW:cancelled-commitment": TriggerScenario(
            .later,
            about: "the fourth month of a commitment that was cancelled in its third"
        ) { state throws(SimulationError) in
            try state.commit(months: 3, and: .zero - ScenarioState.end)
            try state.renew(2)
            try state.life.cancelCommitment()
            state.advanceToNow()
            return try state.life.renew()
        },
        "EXPIRED/VOLUNTARY:commitment": TriggerScenario(.later, about: "the end of a commitment that was cancelled") {
            state throws(SimulationError) in
            try state.commit(months: 12, and: .seconds(3600))
            try state.renew(11)
            try state.life.cancelCommitment()
            state.advanceToNow()
            return try state.life.expire(.voluntary)
        },
    ]

    static let undocumentedValues: [String: TriggerScenario] = [
        "SUBSCRIBED/INITIAL_BUY:unknown-ownership": TriggerScenario(.first, about: "an ownership that Apple does not document") {
            state throws(SimulationError) in
            try state.life.own(as: .undocumented)
            return try state.life.subscribe(to: state.plan, appAccountToken: state.token)
        },
        "SUBSCRIBED/INITIAL_BUY:unknown-product-type": TriggerScenario(.first, about: "a product type that Apple does not document") {
            state throws(SimulationError) in
            var plan = state.plan
            plan.type = .undocumented
            return try state.life.subscribe(to: plan, appAccountToken: state.token)
        },
        "REVOKE:unknown-type": running { state throws(SimulationError) in
            try state.life.revoke(as: .undocumented)
        }.about("a type of revocation that Apple does not document"),
        "OFFER_REDEEMED:retention": running { state throws(SimulationError) in
            try state.life.redeem(.retention)
        }.about("an offer of type 5"),
    ]

    private func about(_ words: String) -> TriggerScenario {
        var scenario = self
        scenario.words = words
        return scenario
    }
}

extension ScenarioState {
    /// Months last as long as ``period``, so that they can end on every date.
    fileprivate var commitment: PurchaseTerms {
        PurchaseTerms(commitment: CommitmentTerms(monthlyPrice: plan.price, month: .days(30)))
    }

    /// Begins a commitment a number of months, and `time`, before now.
    fileprivate mutating func commit(months: Int, and time: Duration) throws(SimulationError) {
        begin(Self.period * months + time)
        _ = try life.subscribe(to: plan, appAccountToken: token, terms: commitment)
    }

    /// Pays a number of further months.
    fileprivate mutating func renew(_ count: Int) throws(SimulationError) {
        for _ in 0..<count { _ = try life.renew() }
    }
}

// Receivers that verify what a provider signs: the body is the delegate's, and the headers are the provider's.

extension Preset {
    static let github = """
        {"headers": {"X-GitHub-Event": "{{ type }}", "X-GitHub-Delivery": "{{ id }}"}, "sign": ["github"]}
        """

    static let stripe = """
        {"sign": ["stripe"]}
        """

    static let svix = """
        {"sign": ["svix"]}
        """
}

"""A network of the toys' own."""

from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy


class OwnPolicy(MaskableActorCriticPolicy):
    """Another package's policy."""

"""Config file of the pixano-inference server under test; its concurrency is opened as far as Roost's."""

from pixano_inference.configs import DeploymentConfig, ModelConfig

models = [
    ModelConfig(
        name=name,
        model_class=model_class,
        deployment=DeploymentConfig(num_cpus=0.1, min_replicas=1, max_replicas=1, max_ongoing_requests=64),
    )
    for name, model_class in (("noop", "BenchNoop"), ("boxes", "BenchBoxes"))
]
